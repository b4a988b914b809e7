// A player would ask for the address again, by GET: it is given the sound that has already come.
const playable = () => ({
  wrapComponents: {
    responseBody: (Original, { React }) => (properties) => {
      const { content, url } = properties;
      const source = React.useMemo(() => (content instanceof Blob ? URL.createObjectURL(content) : url), [content, url]);
      return React.createElement(Original, { ...properties, url: source });
    },
  },
});

// Keys that are typed in stay in this page's memory: nothing is kept, and nothing is asked of other servers.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  plugins: [playable],
});
