// A click on a name in code leads to its definition; on the name in its own definition, to its uses. The server decides which.

const NAME = /[\p{L}\p{N}_$]/u;

export function wordAt(x, y) {
  let node, offset;
  if (document.caretPositionFromPoint) {
    const place = document.caretPositionFromPoint(x, y);
    [node, offset] = [place?.offsetNode, place?.offset];
  } else {
    const range = document.caretRangeFromPoint(x, y);
    [node, offset] = [range?.startContainer, range?.startOffset];
  }
  if (!node || node.nodeType !== Node.TEXT_NODE) return "";
  const text = node.data;
  let first = offset;
  let last = offset;
  while (first > 0 && NAME.test(text[first - 1])) first -= 1;
  while (last < text.length && NAME.test(text[last])) last += 1;
  const word = text.slice(first, last);
  return /^\p{N}/u.test(word) ? "" : word;
}

function goTo(name, code, line) {
  const fields = new URLSearchParams({ project: code.dataset.project, name, path: code.dataset.path, line });
  if (code.dataset.ref) fields.set("ref", code.dataset.ref);
  location.assign(`/ui/goto?${fields}`);
}

document.addEventListener("click", (event) => {
  const line = event.target.closest?.(".code .l > code")?.parentElement;
  const code = line?.closest("[data-project]");
  // A click that ends a selection is not one on a name.
  if (!code || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || !getSelection().isCollapsed) return;
  const word = wordAt(event.clientX, event.clientY);
  if (word) goTo(word, code, line.dataset.line ?? line.id.slice(1));
});

// A click on a line number puts the line into the address, one with Shift a range: #L10-L20.
const RANGE = /^#L(\d+)(?:-L(\d+))?$/;
const whole = document.querySelector(".whole");

function range() {
  const found = RANGE.exec(location.hash);
  if (!found) return null;
  const [first, last] = [Number(found[1]), Number(found[2] ?? found[1])];
  return first <= last ? { first, last } : { first: last, last: first };
}

whole?.addEventListener("mousedown", (event) => {
  // Shift would select text.
  if (event.shiftKey && event.target.closest(".l > span")) event.preventDefault();
});
whole?.addEventListener("click", (event) => {
  const line = event.target.closest(".l > span")?.parentElement;
  if (!line) return;
  const number = Number(line.id.slice(1));
  const from = event.shiftKey ? range()?.first : undefined;
  if (from === undefined || from === number) location.hash = `L${number}`;
  else location.hash = `L${Math.min(from, number)}-L${Math.max(from, number)}`;
});

function changeLinks(selector, change) {
  for (const link of document.querySelectorAll(selector)) {
    const there = new URL(link.href);
    change(there);
    link.href = there;
  }
}

// Links to editors open the line in the address, others lead to the same lines elsewhere.
function followLines({ isFirst = false } = {}) {
  for (const line of document.querySelectorAll(".l.here")) line.classList.remove("here");
  const lines = range();
  if (!lines) return;
  if (whole) light(lines, isFirst);
  for (const link of document.querySelectorAll("[data-editor]")) {
    link.href = link.href.replace(/(:|line=)\d+$/, `$1${lines.first}`);
  }
  changeLinks("[data-lines]", (there) => {
    there.searchParams.set("line", lines.first);
    there.hash = location.hash;
  });
  changeLinks("[data-range]", (there) => {
    there.searchParams.set("first", lines.first);
    there.searchParams.set("last", lines.last);
  });
}

function light(lines, isFirst) {
  const [begin, end] = [Number(whole.dataset.first), Number(whole.dataset.last)];
  const here = new URL(location.href);
  if (isFirst && (lines.first < begin || lines.first > end) && here.searchParams.get("line") !== String(lines.first)) {
    // The lines are in another part of the file.
    here.searchParams.set("line", lines.first);
    location.replace(here);
    return;
  }
  for (let number = Math.max(lines.first, begin); number <= Math.min(lines.last, end); number += 1) {
    document.getElementById(`L${number}`)?.classList.add("here");
  }
  if (lines.last > lines.first) document.getElementById(`L${lines.first}`)?.scrollIntoView({ block: "center" });
}
// In a rendered document a line is that of the last block which begins there or above it.
const rendered = document.querySelector("[data-rendered]");

function followBlock() {
  rendered?.querySelector(".here")?.classList.remove("here");
  const lines = range();
  if (!lines || !rendered) return;
  const blocks = [...rendered.querySelectorAll("[id^=L]")];
  const block = blocks.findLast((each) => Number(each.id.slice(1)) <= lines.first);
  if (!block) return;
  block.classList.add("here");
  if (block.id !== `L${lines.first}`) block.scrollIntoView();
}

addEventListener("hashchange", () => {
  followLines();
  followBlock();
});
followLines({ isFirst: true });
followBlock();

// The outline follows what is read.
const outline = document.querySelector("[data-outline]");
const entries = outline ? [...outline.querySelectorAll("a[data-line]")] : [];
let isFollowing = false;

function followScroll() {
  isFollowing = false;
  const top = (document.querySelector(".top")?.getBoundingClientRect().bottom ?? 0) + 12;
  const box = whole.getBoundingClientRect();
  const line = document.elementFromPoint(box.left + 8, Math.max(top, box.top + 12))?.closest(".l");
  if (!line) return;
  const number = Number(line.id.slice(1));
  const current = entries.filter((entry) => Number(entry.dataset.line) <= number).pop();
  for (const entry of entries) if (entry !== current) entry.removeAttribute("aria-current");
  if (!current || current.hasAttribute("aria-current")) return;
  current.setAttribute("aria-current", "true");
  const place = current.offsetTop - outline.offsetTop;
  if (place < outline.scrollTop || place > outline.scrollTop + outline.clientHeight - 40) {
    outline.scrollTop = place - outline.clientHeight / 2;
  }
}

if (whole && entries.length) {
  const follow = () => {
    if (!isFollowing) requestAnimationFrame(followScroll);
    isFollowing = true;
  };
  addEventListener("scroll", follow, { passive: true });
  followScroll();
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser does not allow it";
    }
  });
}

// From hit to hit of the search that led here, from the line in the address on; then to the next part, and the next file.
function goToHit(step) {
  const hits = [...document.querySelectorAll(".whole b")];
  const file = document.querySelector(step > 0 ? "[data-file=behind]" : "[data-file=before]");
  const beyond = (step > 0 && document.querySelector("[data-behind]")) || file;
  const now = hits.findIndex((hit) => hit.classList.contains("now"));
  const first = range()?.first ?? 0;
  const after = hits.findIndex((hit) => Number(hit.closest(".l").id.slice(1)) >= first);
  let next = now + step;
  if (now < 0) next = step > 0 ? (after < 0 ? hits.length : after) : (after < 0 ? hits.length : after) - 1;
  if ((next < 0 || next >= hits.length) && beyond) {
    beyond.click();
    return;
  }
  if (!hits.length) return;
  const hit = hits[(next + hits.length) % hits.length];
  hits[now]?.classList.remove("now");
  hit.classList.add("now");
  hit.scrollIntoView({ block: "center" });
}

const NO_WRAP = "codecompass.nowrap";

function setWrap(isOff) {
  document.documentElement.classList.toggle("nowrap", isOff);
  try {
    localStorage.setItem(NO_WRAP, isOff ? "1" : "");
  } catch {
    // It is not kept.
  }
}

try {
  document.documentElement.classList.toggle("nowrap", Boolean(localStorage.getItem(NO_WRAP)));
} catch {
  // Lines are wrapped.
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !whole) return;
  if (event.target.closest("input, select, textarea") || document.querySelector("dialog[open]")) return;
  if (event.key === "n") goToHit(1);
  else if (event.key === "N") goToHit(-1);
  else if (event.key === "w") setWrap(!document.documentElement.classList.contains("nowrap"));
  else if (event.key === "y") document.querySelector("[data-permalink]")?.click();
});
