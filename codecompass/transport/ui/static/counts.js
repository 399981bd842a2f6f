// The number of uses beside each definition, for the lines in sight: the server is asked once for each block of lines.

const BLOCK = 50;
const REST_MS = 150;

const code = document.querySelector("[data-counts]");
const note = document.querySelector("[data-note]");
const lines = code ? [...code.children] : [];
const asked = new Set();
let timer = 0;

// The position of the first line whose lower edge is below `y`.
function lineBelow(y) {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].getBoundingClientRect().bottom > y) high = middle;
    else low = middle + 1;
  }
  return low;
}

async function ask(block) {
  asked.add(block);
  const there = new URL(code.dataset.counts, location);
  there.searchParams.set("first", lines[block * BLOCK].id.slice(1));
  there.searchParams.set("last", lines[Math.min(lines.length, (block + 1) * BLOCK) - 1].id.slice(1));
  const answer = await fetch(there);
  if (!answer.ok) return;
  const found = document.createElement("template");
  // Rendered by our own server, with all values escaped.
  found.innerHTML = await answer.text();
  for (const link of found.content.querySelectorAll("[data-of]")) document.getElementById(`L${link.dataset.of}`)?.append(link);
  note.textContent ||= found.content.querySelector("p")?.textContent ?? "";
}

async function askInSight() {
  const first = Math.floor(lineBelow(0) / BLOCK);
  const last = Math.floor(Math.min(lineBelow(innerHeight), lines.length - 1) / BLOCK);
  for (let block = first; block <= last; block += 1) {
    try {
      if (!asked.has(block)) await ask(block);
    } catch {
      // The page works without counts.
    }
  }
}

// A narrow page has no room for them, and shows none.
if (lines.length && matchMedia("(min-width: 46.01rem)").matches) {
  addEventListener(
    "scroll",
    () => {
      clearTimeout(timer);
      timer = setTimeout(askInSight, REST_MS);
    },
    { passive: true },
  );
  askInSight();
}
