"""What browsers see: the playground's files, the page templates, and the guides of docs/ rendered as HTML."""
