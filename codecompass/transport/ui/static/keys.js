// Keys of all pages: to the search, among rows, back, help. Everything works without them.

const help = document.getElementById("help");

function rows() {
  return [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
}

function move(step) {
  const all = rows();
  const at = all.indexOf(document.activeElement);
  const next = at < 0 ? (step > 0 ? 0 : -1) : at + step;
  const row = all[next];
  if (row) {
    row.focus();
    row.closest("li")?.scrollIntoView({ block: "nearest" });
  } else if (next < 0) {
    document.querySelector("[data-search]")?.focus();
  }
  return Boolean(row) || next < 0;
}

function focus(selector) {
  const field = document.querySelector(selector);
  if (!field) return false;
  field.focus();
  field.select?.();
  return true;
}

function isField(element) {
  return element instanceof HTMLInputElement || element instanceof HTMLSelectElement || element instanceof HTMLTextAreaElement;
}

function outline() {
  const links = document.querySelector("[data-outline] a");
  links?.focus();
  return Boolean(links);
}

// Relative times go on while a page is open, in the words of the server.
const STEPS = [[60, "second"], [60, "minute"], [24, "hour"], [30, "day"], [12, "month"]];

function ago(seconds) {
  if (seconds < 5) return "just now";
  let elapsed = seconds;
  for (const [step, unit] of STEPS) {
    if (elapsed < step) return `${Math.floor(elapsed)} ${unit}${Math.floor(elapsed) === 1 ? "" : "s"} ago`;
    elapsed /= step;
  }
  return `${Math.floor(elapsed)} year${Math.floor(elapsed) === 1 ? "" : "s"} ago`;
}

setInterval(() => {
  for (const time of document.querySelectorAll("time")) {
    const said = ago((Date.now() - Date.parse(time.dateTime)) / 1000);
    if (time.textContent !== said) time.textContent = said;
  }
}, 10_000);

// Branches and tags whose names contain what is typed.
const revision = document.querySelector("[data-refs]");
let asking = null;

async function offerRefs() {
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  const there = new URL(revision.dataset.refs, location);
  there.searchParams.set("q", revision.value);
  try {
    const answer = await fetch(there, { signal: mine.signal });
    // Rendered by our own server, with all values escaped.
    if (answer.ok) revision.list.innerHTML = await answer.text();
  } catch {
    // The field can be filled in without a list.
  }
}

revision?.addEventListener("focus", offerRefs);
revision?.addEventListener("input", offerRefs);

function toggleHelp() {
  if (help.open) help.close();
  else help.showModal();
  return true;
}

const KEYS = {
  "/": () => focus("[data-search]"),
  "?": toggleHelp,
  j: () => move(1),
  ArrowDown: () => rows().length > 0 && move(1),
  k: () => move(-1),
  ArrowUp: () => rows().includes(document.activeElement) && move(-1),
  g: () => focus("[data-goto]"),
  o: outline,
  Escape: () => {
    if (history.length < 2) return false;
    history.back();
    return true;
  },
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
  const field = event.target;
  if (isField(field)) {
    if (event.key === "Escape") {
      field.blur();
      event.preventDefault();
    } else if (event.key === "ArrowDown" && field.matches("[data-search]") && move(1)) {
      event.preventDefault();
    }
    return;
  }
  if (Object.hasOwn(KEYS, event.key) && KEYS[event.key]()) event.preventDefault();
});
