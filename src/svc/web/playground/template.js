// Copies of the <template> elements of the page.

export function copyOf(templateId) {
  return document.getElementById(templateId).content.firstElementChild.cloneNode(true);
}
