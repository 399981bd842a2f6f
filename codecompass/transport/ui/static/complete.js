// What can follow while somebody types a query. The server reads the text and says what; this shows the list.

const RECENT = "codecompass.queries";
const MOST_RECENT = 10;

const field = document.getElementById("q");
const list = document.getElementById("completions");
let running = null;
let active = -1;

// The queries of this browser, the latest first. Private windows may have no storage.
export function recent() {
  try {
    const kept = JSON.parse(localStorage.getItem(RECENT) ?? "[]");
    return Array.isArray(kept) ? kept.filter((each) => typeof each === "string").slice(0, MOST_RECENT) : [];
  } catch {
    return [];
  }
}

export function remember(text) {
  const query = text.trim();
  if (!query || query.length > 500) return;
  try {
    const others = recent().filter((each) => each !== query);
    localStorage.setItem(RECENT, JSON.stringify([query, ...others].slice(0, MOST_RECENT)));
  } catch {
    // Nothing is kept.
  }
}

function options() {
  return [...list.querySelectorAll("[role=option]")];
}

function select(number) {
  const all = options();
  active = number;
  all.forEach((each, index) => each.setAttribute("aria-selected", String(index === active)));
  const chosen = all[active];
  if (chosen) field.setAttribute("aria-activedescendant", chosen.id);
  else field.removeAttribute("aria-activedescendant");
  chosen?.scrollIntoView({ block: "nearest" });
}

function show() {
  const isShown = options().length > 0 && document.activeElement === field;
  list.hidden = !isShown;
  field.setAttribute("aria-expanded", String(isShown));
  select(-1);
}

export function hide() {
  running?.abort();
  list.replaceChildren();
  show();
}

function recentOptions() {
  return recent().map((query, number) => {
    const option = document.createElement("li");
    option.setAttribute("role", "option");
    option.id = `recent-${number}`;
    option.dataset.q = query;
    option.dataset.recent = "";
    option.textContent = query;
    return option;
  });
}

// Only the end of a text is completed, and only where a filter may be.
function mayFollow(text) {
  if (field.selectionStart !== text.length) return false;
  return text === "" || /(^|\s)(-[a-z]*|-?[a-z]+:("[^"]*|\S*))$/.test(text);
}

async function offer() {
  const text = field.value;
  running?.abort();
  if (!mayFollow(text)) {
    hide();
    return;
  }
  const mine = new AbortController();
  running = mine;
  const fields = new URLSearchParams({ project: field.form.project.value, q: text });
  try {
    const answer = await fetch(`${field.dataset.complete}?${fields}`, { signal: mine.signal });
    const html = answer.ok ? await answer.text() : "";
    if (mine.signal.aborted || field.value !== text) return;
    // Rendered by our own server, with all values escaped.
    list.innerHTML = html;
    if (!text) list.prepend(...recentOptions());
    show();
  } catch {
    if (!mine.signal.aborted) hide();
  }
}

function accept(option) {
  const isWhole = "recent" in option.dataset || !option.dataset.q.endsWith(":");
  field.value = option.dataset.q;
  field.focus();
  field.setSelectionRange(field.value.length, field.value.length);
  hide();
  field.dispatchEvent(new Event("input", { bubbles: true }));
  if (isWhole) hide();
}

field.addEventListener("input", offer);
field.addEventListener("click", () => field.value || offer());
field.addEventListener("blur", hide);
list.addEventListener("mousedown", (event) => {
  const option = event.target.closest("[role=option]");
  event.preventDefault();
  if (option) accept(option);
});

// Before the keys of all pages, which use the arrows for rows. Where nothing is chosen, Enter and Tab do what they do elsewhere.
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (list.hidden) {
    if (event.key !== "ArrowDown" || field.value) return;
    // An empty field: the last queries, and the filters.
    event.preventDefault();
    event.stopPropagation();
    offer();
    return;
  }
  const count = options().length;
  if (event.key === "ArrowDown") select((active + 1) % count);
  else if (event.key === "ArrowUp") select(active <= 0 ? count - 1 : active - 1);
  else if (event.key === "Escape") hide();
  else if (event.key === "Tab" && !event.shiftKey && field.value && active < 0) accept(options()[0]);
  else if ((event.key === "Enter" || event.key === "Tab") && active >= 0) accept(options()[active]);
  else return;
  event.preventDefault();
  event.stopPropagation();
});
