// Catches the manual's keys while the panel around it has the focus, and tells the kernel which one it was.
// Keys typed into a field, and keys with Ctrl, Alt or Meta, are left alone; the notebook's own one-letter commands are
// kept from firing on a key that was meant for the panel.

const NAMES = {
  ArrowUp: "Up", ArrowDown: "Down", ArrowLeft: "Left", ArrowRight: "Right", PageUp: "PgUp", PageDown: "PgDn",
  Enter: "Enter", " ": "Space", Escape: "Esc", Backspace: "Backspace",
};
const SPOKEN = { Up: "ArrowUp", Down: "ArrowDown", Left: "ArrowLeft", Right: "ArrowRight", PgUp: "PageUp",
  PgDn: "PageDown", Esc: "Escape" };
const HELD = new Set(["Up", "Down", "Left", "Right", "PgUp", "PgDn", "j", "k", "J", "K"]);
const SUPPRESS = "data-lm-suppress-shortcuts";
const PRESSED = "button, a[href], summary, input, [role=button], [role=tab]";
const STEPPED = "input, [role=slider], [role=tab]";

// By Shift, not by the letter's case: Caps Lock must not turn a rewrite into a rewrite of the whole subtree.
function nameOf(event) {
  if (NAMES[event.key]) return event.shiftKey ? "" : NAMES[event.key];
  let letter = /^[a-z]$/i.test(event.key) ? event.key : "";
  if (!letter && event.key.length === 1 && event.key > "\x7f" && /^Key[A-Z]$/.test(event.code)) letter = event.code[3];
  return event.shiftKey ? letter.toUpperCase() : letter.toLowerCase();
}

function typing(target) {
  if (target.isContentEditable || target.matches("textarea, [role=textbox], [role=combobox], [role=spinbutton]")) return true;
  if (target.matches("select")) return target.size < 2 && !target.multiple;
  return target.matches("input") && !/^(checkbox|radio|button|submit|range)$/.test(target.type);
}

// A key that the focused control itself understands.
function native(target, name) {
  if (name === "Enter" || name === "Space") return target.closest(PRESSED) !== null;
  return NAMES[name] === undefined && name.length > 1 && name !== "Esc" && name !== "Backspace" && target.closest(STEPPED) !== null;
}

// The part of an element that scrolls: itself, something in it, or else what it lies in.
function scroller(element) {
  const scrolls = (one) => one.scrollHeight > one.clientHeight + 1 && /auto|scroll/.test(getComputedStyle(one).overflowY);
  const within = [element, ...element.querySelectorAll("*")].find(scrolls);
  let around = within ?? element;
  while (around && !scrolls(around)) around = around.parentElement;
  return around;
}

function scroll(element, unit, by) {
  const part = element && scroller(element);
  if (!part) return;
  const step = { line: 24, page: part.clientHeight, end: 2 * part.scrollHeight }[unit];
  part.scrollBy({ top: by * step, behavior: "instant" });
}

const modified = (event) => event.ctrlKey || event.metaKey || event.altKey;

function listen(root, model) {
  let inside = false;
  let waiting = 0;
  const describe = () => {
    root.tabIndex = 0;
    root.setAttribute("role", "group");
    root.setAttribute("aria-label", model.get("label"));
    const spoken = model.get("names").map((name) => SPOKEN[name] ?? (/^[A-Z]$/.test(name) ? `Shift+${name}` : name));
    root.toggleAttribute(SUPPRESS, true);
    root.setAttribute("aria-keyshortcuts", spoken.join(" "));
  };
  const focus = () => root.focus({ preventScroll: true });
  const keydown = (event) => {
    if (event.defaultPrevented || event.isComposing || modified(event)) return;
    if (typing(event.target)) return;
    const name = nameOf(event);
    if (native(event.target, name)) return;
    // With the focus on the frame, a panel inside has the first word.
    const inside = [...root.querySelectorAll(".lcm-keys")].filter((one) => one.offsetParent && !one.contains(event.target));
    const taken = [...inside.reverse(), root].some((one) => one.lcmKey?.(name, event.repeat));
    if (!taken) return;
    event.preventDefault();
    event.stopPropagation();
  };
  root.lcmKey = (name, repeat) => {
    if (!model.get("names").includes(name)) return false;
    const [part, unit, by] = model.get("scrolls")[name] ?? [];
    if (part) {
      scroll(root.querySelector(`.${part}`), unit, by);
      return true;
    }
    // A key held down repeats faster than a kernel answers: only moves repeat, and each waits for the one before.
    if (repeat && (Date.now() - waiting < 1000 || !HELD.has(name))) return true;
    waiting = Date.now();
    model.send({ key: name });
    return true;
  };
  // JupyterLab looks for this attribute, on the focused element first, before it takes a key for a command. While a
  // modifier is held it is away: saving and running the cell work as ever.
  const shield = (target, on) => [root, target].forEach((one) => one.toggleAttribute(SUPPRESS, on));
  const modifier = (event) => {
    if (root.contains(event.target)) shield(event.target, !modified(event));
  };
  // The way out of a field. Caught early, because ipywidgets keeps the keys of its text areas to itself.
  const leave = (event) => {
    if (event.key !== "Escape" || event.isComposing || modified(event) || !typing(event.target)) return;
    if (event.target.closest(".lcm-keys") === root) focus();
  };
  const moved = (event) => {
    inside = root.contains(event.target);
    if (inside && event.type === "focusin") shield(event.target, true);
  };
  // A focused control that is disabled, hidden or taken away would leave the focus nowhere, and the next key would go to
  // the notebook. A browser notices only when it draws, so there is a second look.
  const keep = () => {
    const now = document.activeElement;
    const lost = !now || now === document.body || (root.contains(now) && (now.disabled || !now.getClientRects().length));
    if (inside && lost && root.isConnected) focus();
  };
  let later = 0;
  const kept = new MutationObserver(() => {
    keep();
    clearTimeout(later);
    later = setTimeout(keep, 80);
  });
  const told = (content) => { waiting = content.done ? 0 : waiting; };
  describe();
  root.addEventListener("keydown", keydown);
  root.addEventListener("keydown", leave, true);
  window.addEventListener("keydown", modifier, true);
  window.addEventListener("keyup", modifier, true);
  document.addEventListener("focusin", moved);
  document.addEventListener("mousedown", moved, true);
  kept.observe(root, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled", "class", "style"] });
  model.on("msg:custom", told);
  model.on("change:names change:label", describe);
  return () => {
    root.removeEventListener("keydown", keydown);
    root.removeEventListener("keydown", leave, true);
    window.removeEventListener("keydown", modifier, true);
    window.removeEventListener("keyup", modifier, true);
    document.removeEventListener("focusin", moved);
    document.removeEventListener("mousedown", moved, true);
    kept.disconnect();
    clearTimeout(later);
    model.off("msg:custom", told);
    model.off("change:names change:label", describe);
    root.removeAttribute(SUPPRESS);
    delete root.lcmKey;
  };
}

function render({ model, el }) {
  let stop = () => {};
  let timer = 0;
  const say = () => { el.textContent = model.get("hint"); };
  const look = (left) => {
    const root = el.closest(".lcm-keys");
    if (root) stop = listen(root, model);
    else if (left) timer = setTimeout(look, 50, left - 1);
  };
  el.classList.add("lcm-keys-hint");
  say();
  model.on("change:hint", say);
  look(600);
  return () => {
    clearTimeout(timer);
    model.off("change:hint", say);
    stop();
  };
}

export default { render };
