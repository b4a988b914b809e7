// An audio element would request the address again, with GET: it gets the audio of the response instead.
const playResponseAudio = () => ({
  wrapComponents: {
    responseBody: (Original, { React }) => (properties) => {
      const { content, url } = properties;
      const source = React.useMemo(() => (content instanceof Blob ? URL.createObjectURL(content) : url), [content, url]);
      return React.createElement(Original, { ...properties, url: source });
    },
  },
});

// Keys that are typed in stay in the memory of this page, and no other server is contacted.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
  plugins: [playResponseAudio],
});
