// Keeps the shown projects and jobs up to date: the server sends the parts that have changed, by the id of their element.

const place = document.querySelector("[data-events]");
let stream = null;

function open() {
  stream ??= new EventSource(place.dataset.events);
  stream.addEventListener("projects", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      const hasFocus = part?.contains(document.activeElement);
      // Rendered by our own server, with all values escaped.
      if (part) part.innerHTML = html;
      if (hasFocus) part.querySelector("button")?.focus();
    }
    place.dataset.live = "yes";
  });
}

function close() {
  stream?.close();
  stream = null;
}

if (place) {
  open();
  // A hidden page keeps no connection open.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
}
