// While the pointer rests on a name in code, a card says what the name is. A click leads there, with and without the card.

import { wordAt } from "./file.js";

const REST_MS = 400;
const MOST_KEPT = 200;

const kept = new Map();
const card = document.createElement("div");
card.className = "card";
card.setAttribute("role", "tooltip");
card.hidden = true;
document.body.append(card);

let timer = 0;
let wanted = "";

function hide() {
  clearTimeout(timer);
  wanted = "";
  card.hidden = true;
}

async function read(address) {
  if (!kept.has(address)) {
    if (kept.size >= MOST_KEPT) kept.clear();
    const answer = await fetch(address);
    kept.set(address, answer.ok ? (await answer.text()).trim() : "");
  }
  return kept.get(address);
}

async function show(name, code, x, y) {
  const fields = new URLSearchParams({ project: code.dataset.project, name, path: code.dataset.path });
  if (code.dataset.ref) fields.set("ref", code.dataset.ref);
  const address = `/ui/card?${fields}`;
  wanted = address;
  let html = "";
  try {
    html = await read(address);
  } catch {
    // The page works without cards.
  }
  if (wanted !== address || !html) return;
  // Rendered by our own server, with all values escaped.
  card.innerHTML = html;
  card.hidden = false;
  const box = card.getBoundingClientRect();
  card.style.left = `${Math.max(8, Math.min(x, innerWidth - box.width - 8))}px`;
  card.style.top = `${y + 20 + box.height < innerHeight ? y + 20 : Math.max(8, y - box.height - 12)}px`;
}

if (matchMedia("(hover: hover)").matches) {
  document.addEventListener("mousemove", (event) => {
    hide();
    const code = event.target.closest?.(".code .l > code")?.closest("[data-project]");
    if (!code || event.buttons) return;
    const [x, y] = [event.clientX, event.clientY];
    timer = setTimeout(() => {
      const word = wordAt(x, y);
      if (word) show(word, code, x, y);
    }, REST_MS);
  });
  for (const name of ["scroll", "keydown", "mousedown", "blur"]) addEventListener(name, hide, { passive: true });
}
