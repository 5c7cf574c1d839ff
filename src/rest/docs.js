// Shows the document of the service that served this page.

// A stream is read for so long, and to this length: the page shows an answer when it has ended.
const STREAM_MS = 5000;
const STREAM_CHARS = 65536;

// JSON with a line for each member; values on lines of their own stay so. The text is not parsed, so
// that numbers keep their digits.
function indented(json) {
  let text = "";
  let depth = 0;
  let inString = false;
  const line = () => "\n" + "  ".repeat(depth);
  for (let at = 0; at < json.length; at++) {
    const next = json[at];
    if (inString) {
      text += next;
      if (next === "\\") text += json[++at] ?? "";
      else if (next === '"') inString = false;
    } else if (next === '"') {
      inString = true;
      text += next;
    } else if (next === "{" || next === "[") {
      const rest = json.slice(at + 1).match(/^\s*[\]}]/);
      if (rest) {
        text += next + rest[0].trim();
        at += rest[0].length;
      } else {
        depth++;
        text += next + line();
      }
    } else if (next === "}" || next === "]") {
      depth--;
      text += line() + next;
    } else if (next === ",") text += next + line();
    else if (next === ":") text += ": ";
    else if (next.trim() || (next === "\n" && !depth)) text += next;
  }
  return text;
}

// Answers in JSON as they are; Swagger UI would parse them, and round numbers.
const answersAsTheyAre = ({ React }) => ({
  wrapComponents: {
    responseBody: (Original) => (props) => {
      const { content, contentType } = props;
      if (typeof content !== "string" || !/json/.test(contentType ?? "")) {
        return React.createElement(Original, props);
      }
      return React.createElement("pre", { className: "microlight" }, indented(content));
    },
  },
});

// The beginning of a stream of events.
async function beginning(url, options) {
  const abort = new AbortController();
  const response = await fetch(url, { ...options, signal: abort.signal });
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) return response;
  const timer = setTimeout(() => abort.abort(), STREAM_MS);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  try {
    while (text.length < STREAM_CHARS) {
      const { done, value } = await reader.read();
      if (done) break;
      text += value;
    }
  } catch {
    // The time is over.
  }
  clearTimeout(timer);
  abort.abort();
  text += `\n: this page shows what comes within ${STREAM_MS / 1000} seconds; use curl -N for all\n`;
  return new Response(text, { status: response.status, headers: response.headers });
}

async function show() {
  const spec = await (await fetch("openapi.json")).json();
  // The page may be behind a proxy that adds a prefix to all paths.
  const context = new URL(spec.servers[0].url, location.href).pathname;
  spec.servers = [{ url: new URL("." + context, location.href).href }];
  SwaggerUIBundle({
    spec,
    dom_id: "#page",
    deepLinking: true,
    displayRequestDuration: true,
    docExpansion: "list",
    defaultModelsExpandDepth: 0,
    filter: true,
    tryItOutEnabled: true,
    // Large answers have too many parts to be coloured.
    syntaxHighlight: false,
    validatorUrl: null,
    plugins: [answersAsTheyAre],
    requestInterceptor: (request) => {
      const { accept } = request.headers ?? {};
      if (accept?.includes("text/event-stream")) request.userFetch = beginning;
      return request;
    },
  });
}

show();
