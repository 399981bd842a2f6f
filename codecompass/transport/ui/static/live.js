// Keeps what is shown of projects and jobs up to date: the server sends the parts that have changed, by the id of their place.

const place = document.querySelector("[data-events]");
let stream = null;

function open() {
  stream ??= new EventSource(place.dataset.events);
  stream.addEventListener("projects", (event) => {
    for (const [id, html] of Object.entries(JSON.parse(event.data))) {
      const part = document.getElementById(id);
      const hasFocus = part?.contains(document.activeElement);
      // Made by our own server, with everything escaped that is not its own.
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
  // A page that nobody looks at takes no connection.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  addEventListener("pagehide", close);
  addEventListener("pageshow", (event) => event.persisted && open());
}
