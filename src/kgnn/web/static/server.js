// Asking the server. What it refuses is an error with its reason.

export class Refused extends Error {
  constructor(status, told) {
    super(told.detail ?? `The server answered ${status}.`);
    this.status = status;
  }
}

const ask = async (path, request) => {
  const response = await fetch(path, request).catch(() => { throw new Error("The server does not answer."); });
  if (response.ok) return response;
  throw new Refused(response.status, await response.json().catch(() => ({})));
};
const send = (path, kind, body) => ask(path, { method: "POST", headers: { "content-type": kind }, body });

export const getText = async (path) => (await ask(path)).text();
export const get = async (path) => (await ask(path)).json();
export const post = async (path, body) => (await send(path, "application/json", JSON.stringify(body))).json();
export const postLines = (path, lines) => send(path, "application/x-ndjson", lines.join("\n"));
export const postTable = async (path, file) => (await send(path, "text/csv", file)).json();

// A name for an action: what is sent twice is done once. `crypto.randomUUID` is missing where pages are not served to this
// machine alone.
export const unique = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), (n) => n.toString(16).padStart(2, "0")).join("");
