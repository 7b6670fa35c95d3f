// Keeps what is shown up to date. The server says when it has looked again; the page then asks for itself anew and
// takes over the parts that are marked data-live. Without this script the page is as it was when it was asked for.
"use strict";
(() => {
  const main = document.getElementById("main");
  const status = document.getElementById("live");
  const follows = "follow" in main.dataset;
  let again = Number(main.dataset.again || 0);
  if (!follows && !again) return;

  // The server looks at least every 16 seconds. Who hears nothing for longer than this has a connection that leads
  // nowhere, as after a sleep or behind a tunnel that hangs: no error would ever tell.
  const patience = 30000;

  // What a tab shows of a page that nobody looks at.
  const icon = document.getElementById("icon");
  const mark = (fresh) => {
    if (document.title !== fresh.title) document.title = fresh.title;
    const next = fresh.getElementById("icon");
    if (icon && next && icon.getAttribute("href") !== next.getAttribute("href")) icon.setAttribute("href", next.getAttribute("href"));
  };

  const say = (text) => { if (status.textContent !== text) status.textContent = text; };
  const sayOld = () => {
    if (icon) icon.setAttribute("href", "/static/unknown.svg");
    say("not live: what is shown is of " + (document.getElementById("now") || {}).textContent);
  };

  // Where the keyboard is, so that it can be put back there: by id, or by what it leads to.
  const placeOf = (element, part) => {
    if (!element || element === part || !part.contains(element)) return null;
    if (element.id) return (root) => root.querySelector("#" + CSS.escape(element.id));
    const href = element.getAttribute("href");
    return href ? (root) => root.querySelector('[href="' + CSS.escape(href) + '"]') : null;
  };

  // Somebody who marks text to copy it keeps it.
  const marked = (part) => {
    const selection = document.getSelection();
    return selection && selection.type === "Range" && part.contains(selection.anchorNode);
  };

  // What each part was when it came: what somebody opens in it is no change.
  const written = new Map([...document.querySelectorAll("[data-live]")].map((part) => [part, part.innerHTML]));

  const take = (fresh) => {
    for (const part of document.querySelectorAll("[data-live]")) {
      const next = fresh.getElementById(part.id);
      if (!next || next.innerHTML === written.get(part) || marked(part)) continue;
      written.set(part, next.innerHTML);
      const place = placeOf(document.activeElement, part);
      const opened = [...part.querySelectorAll("details[open][id]")].map((d) => d.id);
      part.replaceChildren(...next.childNodes);
      for (const id of opened) {
        const again = document.getElementById(id);
        if (again) again.open = true;
      }
      const focus = place && place(part);
      if (focus) focus.focus({ preventScroll: true });
    }
    mark(fresh);
    const now = fresh.getElementById("main");
    again = now ? Number(now.dataset.again || 0) : 0;
    if (now && !follows && !again) location.reload(); // what was waited for has ended
  };

  let asking = false, missed = false;
  const refresh = async () => {
    if (asking) { missed = true; return; }
    asking = true;
    try {
      const answer = await fetch(location.href, { cache: "no-store", redirect: "error", signal: AbortSignal.timeout(patience), headers: { "Pipeline-Refresh": "1" } });
      if (!answer.ok) throw new Error(String(answer.status));
      take(new DOMParser().parseFromString(await answer.text(), "text/html"));
      say("live");
    } catch {
      sayOld();
    }
    asking = false;
    if (missed) { missed = false; refresh(); }
  };

  if (again) {
    const tick = async () => { await refresh(); if (again) setTimeout(tick, 1000); };
    setTimeout(tick, 1000);
    return;
  }

  // Many pages may be open; one that nobody sees does not follow, and asks once a minute.
  let source = null, timer = 0, watch = 0, was = false, heard = 0;
  const stop = () => { if (source) source.close(); source = null; clearInterval(timer); clearInterval(watch); };
  const start = () => {
    if (source || !window.EventSource) return;
    clearInterval(timer);
    heard = Date.now();
    source = new EventSource("/follow");
    source.onopen = () => { heard = Date.now(); if (was) refresh(); was = true; say("live"); };
    source.addEventListener("look", () => { heard = Date.now(); refresh(); });
    source.onerror = () => {
      sayOld();
      if (source && source.readyState === EventSource.CLOSED) { // it was refused: ask now and then
        stop();
        timer = setInterval(refresh, 10000);
      }
    };
    watch = setInterval(() => {
      if (Date.now() - heard < patience) return;
      sayOld();
      stop();
      start();
    }, 1000);
  };
  document.addEventListener("visibilitychange", () => {
    stop();
    if (document.visibilityState === "visible") { start(); return; }
    timer = setInterval(refresh, 60000); // its title and icon go on telling of trouble
  });
  start();
})();
