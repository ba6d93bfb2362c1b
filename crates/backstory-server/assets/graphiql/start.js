'use strict';

const endpoint = new URL('/graphql', window.location.href);
const socket = new URL('/graphql/ws', window.location.href);
socket.protocol = endpoint.protocol === 'https:' ? 'wss:' : 'ws:';

const firstQuery = `# Why is this code like this? Ask, then press Ctrl-Enter.
query Search($query: String!) {
  search(query: $query, first: 5) {
    warnings
    hits {
      documentId
      title
      snippet
      url
    }
  }
}
`;

ReactDOM.createRoot(document.getElementById('graphiql')).render(
  React.createElement(GraphiQL, {
    fetcher: GraphiQL.createFetcher({ url: endpoint.href, subscriptionUrl: socket.href }),
    defaultEditorToolsVisibility: true,
    defaultQuery: firstQuery,
  }),
);
