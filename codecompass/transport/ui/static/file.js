// A click on a name in code leads to its definition; on the name in its own definition, to its uses. The server decides which.

const NAME = /[\p{L}\p{N}_$]/u;

function wordAt(x, y) {
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

// A click on a line number puts the line into the address.
document.addEventListener("click", (event) => {
  const line = event.target.closest?.(".whole .l > span")?.parentElement;
  if (line) location.hash = line.id;
});

// Links to editors open the line in the address.
function followLine() {
  const line = /^#L(\d+)$/.exec(location.hash)?.[1];
  if (!line) return;
  for (const link of document.querySelectorAll("[data-editor]")) {
    link.href = link.href.replace(/(:|line=)\d+$/, `$1${line}`);
  }
}
addEventListener("hashchange", followLine);
followLine();
