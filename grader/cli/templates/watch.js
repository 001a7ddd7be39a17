// Renews the page of a watched file when it is graded, without losing one's place in it.

const LIVE = {
  waiting: "Waiting for the first grade.",
  grading: "Grading.",
  passed: "Up to date. The page is renewed on every save.",
  failed: "Up to date. The page is renewed on every save.",
  removed: "The file was removed.",
  stopped: "The file could not be graded: see the terminal.",
};

function follow(status) {
  const number = Number(status.dataset.live);
  let shown = 0;
  const events = new EventSource("events");
  events.addEventListener("message", async (event) => {
    const files = JSON.parse(event.data);
    for (const file of files) {
      const cell = document.querySelector(`[data-state="${file.number}"]`);
      if (cell) {
        cell.textContent = file.state;
        cell.className = file.state;
      }
    }
    const file = files.find((one) => one.number === number);
    status.textContent = file ? LIVE[file.state] : "";
    if (file && file.version !== shown) {
      shown = file.version;
      await renew(status.dataset.livePage);
    }
  });
  events.addEventListener("error", () => {
    status.textContent = "Not connected: has zoo watch ended?";
  });
}

async function renew(address) {
  const response = await fetch(address, { cache: "no-store" });
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html"); // runs nothing
  const restore = placeNow();
  document.title = page.title;
  for (const part of ["header", "main"]) {
    const target = document.getElementById(`live-${part}`);
    target.replaceChildren(...document.adoptNode(page.querySelector(part)).childNodes);
    enhance(target);
  }
  restore();
}

// Which details are open, what has the focus, and what is at the top of the window; a function that restores it.
function placeNow() {
  const open = new Map([...document.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  const focused = document.activeElement;
  const focus = focused?.tagName === "SUMMARY" ? [focused.parentElement.id, "summary"] : [focused?.id ?? "", null];
  const sideways = [...document.querySelectorAll(".source")].map((one) => one.scrollLeft);
  const height = window.scrollY;
  const above = [...document.querySelectorAll("#live-main [id]")].filter((one) => {
    const box = one.getBoundingClientRect();
    return box.height > 0 && box.top <= 0;
  });
  const anchors = above.reverse().map((one) => [one.id, one.getBoundingClientRect().top]);
  return () => {
    open.forEach((state, id) => {
      const one = document.getElementById(id);
      if (one) one.open = state;
    });
    document.querySelectorAll(".source").forEach((one, i) => { one.scrollLeft = sideways[i] ?? 0; });
    const target = document.getElementById(focus[0]);
    (focus[1] ? target?.querySelector(focus[1]) : target)?.focus({ preventScroll: true });
    const anchor = anchors.find(([id]) => document.getElementById(id));
    if (height === 0 || !anchor) window.scrollTo(0, height);
    else window.scrollBy(0, document.getElementById(anchor[0]).getBoundingClientRect().top - anchor[1]);
  };
}

document.querySelectorAll("[data-live]").forEach(follow);
