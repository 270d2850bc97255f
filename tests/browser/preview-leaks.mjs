/**
 * A page in the preview's frame tries to reach a listener on this machine, each way on a port of its own, by UDP and
 * TCP; and a page that does nothing of the kind works. The job: {url, ports}. The answer to `heard` is what arrived:
 * port → ["tcp 0", "udp 20", …], a protocol and how many bytes. In each way `PORT` becomes its port, and `B64` PAGE.
 */
import { main } from "./driver.mjs";

/** STUN and TURN, by UDP and TCP: the name of a TURN user can carry what is known. */
const SEND = `
try {
  const to = "127.0.0.1:PORT"
  const turn = { username: "LEAK", credential: "x" }
  const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:" + to }, { urls: "turn:" + to, ...turn }, { urls: "turn:" + to + "?transport=tcp", ...turn }] })
  peer.createDataChannel("x")
  peer.createOffer().then((offer) => peer.setLocalDescription(offer)).catch(() => {})
} catch {}
try { fetch("http://127.0.0.1:PORT/fetch", { mode: "no-cors" }).catch(() => {}) } catch {}
try { new WebTransport("https://127.0.0.1:PORT/x") } catch {}
`;
/** A page that sends. */
const PAGE = `<script>${SEND}</script>`;
const script = (code) => `<!doctype html><body><script>${code}</script>`;
const quoted = (text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
const json = (text) => JSON.stringify(text).replaceAll("</", "<\\/");

const WAYS = {
  "its own window": PAGE,
  "a window's function by another name": script(SEND.replaceAll("new RTC", "new webkitRTC")),
  "a worker": script(`new Worker(URL.createObjectURL(new Blob([${json(SEND)}])))`),
  "a shared worker": script(`new SharedWorker("data:text/javascript," + encodeURIComponent(${json(SEND)}))`),
  // frames
  srcdoc: `<iframe srcdoc="${quoted(PAGE)}"></iframe>`,
  "srcdoc in srcdoc": `<iframe srcdoc="${quoted(`<iframe srcdoc="${quoted(PAGE)}"></iframe>`)}"></iframe>`,
  "srcdoc, a handler": `<iframe srcdoc="${quoted(`<img src=x: onerror="${quoted(SEND)}">`)}"></iframe>`,
  "srcdoc, an svg": `<iframe srcdoc="${quoted(`<svg onload="${quoted(SEND)}"><script>${SEND}</script></svg>`)}"></iframe>`,
  "srcdoc by script": script(`const f = document.createElement("iframe"); f.srcdoc = ${json(PAGE)}; document.body.append(f)`),
  "srcdoc by innerHTML": script(`document.body.innerHTML = ${json(`<iframe srcdoc="${quoted(PAGE)}"></iframe>`)}`),
  "srcdoc, later": script(`setTimeout(() => { document.body.innerHTML = ${json(`<iframe srcdoc="${quoted(PAGE)}"></iframe>`)} }, 300)`),
  "srcdoc by document.write": script(`document.write(${json(`<iframe srcdoc="${quoted(PAGE)}"></iframe>`)})`),
  "srcdoc in a shadow tree": script(`const d = document.createElement("div"); document.body.append(d); d.attachShadow({ mode: "closed" }).innerHTML = ${json(`<iframe srcdoc="${quoted(PAGE)}"></iframe>`)}`),
  "srcdoc in a declared shadow tree": `<div><template shadowrootmode="closed"><iframe srcdoc="${quoted(PAGE)}"></iframe></template></div>`,
  "srcdoc with a script of the page": script(`
    const own = document.currentScript
    const copy = own.cloneNode(true)
    copy.textContent = ${json(SEND)}
    const holder = document.createElement("div")
    holder.append(copy)
    const f = document.createElement("iframe")
    f.srcdoc = holder.innerHTML
    document.body.append(f)`),
  "srcdoc with the nonce of the page": script(`
    const found = []
    const look = (way) => { try { found.push(way()) } catch {} }
    document.addEventListener("securitypolicyviolation", (event) => look(() => event.originalPolicy), true)
    look(() => new ReportingObserver((all) => look(() => JSON.stringify(all)), { types: ["csp-violation"], buffered: true }).observe())
    const made = [document.createElement("script"), document.createElementNS("http://www.w3.org/2000/svg", "script"), document.currentScript, document.currentScript.cloneNode(true)]
    for (const s of [...made, ...document.querySelectorAll("script, meta, *")]) {
      for (const way of [() => s.nonce, () => s.getAttribute("nonce"), () => s.outerHTML, () => s.content, () => structuredClone(s)]) look(way)
      for (let at = s; at; at = Object.getPrototypeOf(at)) for (const one of made) look(() => Object.getOwnPropertyDescriptor(at, "nonce").get.call(one))
    }
    for (const way of [() => document.documentElement.outerHTML, () => new XMLSerializer().serializeToString(document), () => String(document.write), () => JSON.stringify(performance.getEntries())]) look(way)
    const { apply, call } = Function.prototype
    Function.prototype.call = function (...all) { look(() => all.join(" ")); return apply.apply(this, [all[0], all.slice(1)]) }
    Reflect.apply = (...all) => { look(() => String(all[2])) }
    Object.defineProperty(Array.prototype, "0", { set(value) { look(() => String(value)); Object.defineProperty(this, "0", { value, writable: true, configurable: true, enumerable: true }) }, configurable: true })
    document.createElement("script")
    document.write("<p>x</p>")
    delete Array.prototype[0]
    const img = document.createElement("img")
    img.setAttribute("onclick", "1")
    document.body.append(img)
    img.src = "http://127.0.0.1:PORT/img"
    setTimeout(() => {
      for (const n of new Set(found.join(" ").match(/[A-Za-z0-9+/_-]{16,}={0,2}/g)?.filter((one) => /[0-9]/.test(one)))) {
        const f = document.createElement("iframe")
        f.srcdoc = "<script nonce='" + n + "'>" + ${json(SEND)} + "<" + "/script>"
        document.body.append(f)
      }
    }, 200)`),
  "a frame's javascript:": `<iframe src="javascript:${quoted(SEND)}"></iframe>`,
  "a frame's javascript: document": `<iframe src="javascript:'${quoted(PAGE.replaceAll("\n", " ").replaceAll("'", "\\'"))}'"></iframe>`,
  "a frame's javascript: by script": script(`const f = document.createElement("iframe"); f.src = "javascript:" + encodeURIComponent(${json(SEND)}); document.body.append(f)`),
  "a frame told to go to javascript:": script(`const f = document.createElement("iframe"); document.body.append(f); try { frames[0].location = "javascript:" + encodeURIComponent(${json(SEND)}) } catch {}`),
  "its own javascript:": script(`location.href = "javascript:" + encodeURIComponent(${json(json(PAGE))})`),
  "its own javascript: by a link": script(`const a = document.createElement("a"); a.href = "javascript:" + encodeURIComponent(${json(json(PAGE))}); document.body.append(a); a.click()`),
  "a form's javascript:": script(`const f = document.createElement("form"); f.action = "javascript:" + encodeURIComponent(${json(json(PAGE))}); document.body.append(f); f.submit()`),
  "a frame's window": script(`const f = document.createElement("iframe"); document.body.append(f); for (const get of [() => f.contentWindow, () => frames[0], () => f.contentDocument.defaultView]) try { const RTCPeerConnection = get().RTCPeerConnection; ${SEND} } catch {}`),
  "a frame's parser": script(`const f = document.createElement("iframe"); document.body.append(f); try { f.contentDocument.write(${json(PAGE)}) } catch {}`),
  "a blob's frame": script(`const f = document.createElement("iframe"); f.src = URL.createObjectURL(new Blob([${json(PAGE)}], { type: "text/html" })); document.body.append(f)`),
  "a data: frame": `<iframe src="data:text/html;base64,B64"></iframe>`,
  "an object": `<object type="text/html" data="data:text/html;base64,B64"></object>`,
  "an object's javascript:": `<object type="text/html" data="javascript:${quoted(SEND)}"></object>`,
  "an embed": `<embed type="image/svg+xml" src="data:text/html;base64,B64">`,
  frameset: `<frameset><frame src="javascript:${quoted(SEND)}"></frameset>`,
  portal: script(`for (const name of ["portal", "fencedframe"]) { const f = document.createElement(name); f.src = "http://127.0.0.1:PORT/"; document.body.append(f) }`),
  "a window": script(`try { const w = open("about:blank"); w.document.write(${json(PAGE)}) } catch {}; try { open("http://127.0.0.1:PORT/") } catch {}`),
  "its own blob": script(`location.href = URL.createObjectURL(new Blob([${json(PAGE)}], { type: "text/html" }))`),
  "its own data:": script(`location.href = "data:text/html," + encodeURIComponent(${json(PAGE)})`),
  "the preview's page in a frame": script(`const f = document.createElement("iframe"); f.src = "artifact.html"; document.body.append(f); addEventListener("message", (event) => { event.source.postMessage({ page: ${json(PAGE)} }, "*") })`),
  "the preview's page anew": script(`location.href = "artifact.html"`),
  "the page that runs code": script(`const f = document.createElement("iframe"); f.src = "sandbox.html"; document.body.append(f); f.onload = () => f.contentWindow.postMessage({ code: ${json(SEND)}, ms: 1000 }, "*")`),
  "document.open": script(`document.addEventListener("x", () => {}); setTimeout(() => { document.open(); document.write(${json(PAGE)}); document.close() }, 300)`),
  "an xml page in a frame": script(`const f = document.createElement("iframe"); f.src = URL.createObjectURL(new Blob(['<x:script xmlns:x="http://www.w3.org/1999/xhtml">' + ${json(SEND.replaceAll("&", "&amp;"))} + "</x:script>"], { type: "text/xml" })); document.body.append(f)`),
  "an import": `<script type="module">import("http://127.0.0.1:PORT/x.js").catch(() => {})</script><script type="module" src="http://127.0.0.1:PORT/y.js"></script>`,
  "an import map": `<script type="importmap">{"imports": {"x": "http://127.0.0.1:PORT/x.js"}}</script><script type="module">import "x"</script>`,
  "speculation rules": `<script type="speculationrules">{"prefetch": [{"source": "list", "urls": ["http://127.0.0.1:PORT/x"], "eagerness": "immediate"}], "prerender": [{"source": "list", "urls": ["http://127.0.0.1:PORT/y"], "eagerness": "immediate"}]}</script>`,
  // links and the rest of markup
  preconnect: `<link rel="preconnect" href="http://127.0.0.1:PORT"><p>x`,
  "preconnect by script": script(`const l = document.createElement("link"); l.rel = "preconnect"; l.href = "http://127.0.0.1:PORT/"; document.head.append(l)`),
  "preconnect by another document": script(`const d = new DOMParser().parseFromString("<link rel=preconnect href=http://127.0.0.1:PORT>", "text/html"); document.head.append(d.querySelector("link"))`),
  "preconnect by a fragment": script(`document.head.append(document.createRange().createContextualFragment("<link rel=preconnect href=http://127.0.0.1:PORT>"))`),
  "preconnect by xml": script(`const d = new DOMParser().parseFromString('<link xmlns="http://www.w3.org/1999/xhtml" rel="preconnect" href="http://127.0.0.1:PORT/"/>', "text/xml"); document.head.append(d.documentElement)`),
  "preconnect by innerHTML": script(`document.body.innerHTML = "<link rel=preconnect href=http://127.0.0.1:PORT>"`),
  "preconnect by document.write": script(`document.write("<link rel=preconnect href=http://127.0.0.1:PORT>")`),
  "preconnect, an attribute at a time": script(`const l = document.createElement("link"); document.head.append(l); l.setAttribute("href", "http://127.0.0.1:PORT/"); l.relList.add("preconnect")`),
  "preconnect, changed": `<link id="l" rel="icon" href="http://127.0.0.1:PORT/"><script>document.getElementById("l").rel = "preconnect"</script>`,
  "preconnect, an attribute's value": script(`const l = document.createElement("link"); l.setAttribute("href", "http://127.0.0.1:PORT/"); const a = document.createAttribute("rel"); l.setAttributeNode(a); document.head.append(l); a.value = "preconnect"`),
  "preconnect in a shadow tree": script(`const d = document.createElement("div"); document.body.append(d); d.attachShadow({ mode: "closed" }).innerHTML = "<link rel=preconnect href=http://127.0.0.1:PORT>"`),
  "preconnect in a frame": `<iframe srcdoc="${quoted(`<link rel=preconnect href=http://127.0.0.1:PORT>`)}"></iframe>`,
  "preconnect in a frame by script": script(`const f = document.createElement("iframe"); f.srcdoc = "<link rel=preconnect href=http://127.0.0.1:PORT>"; document.body.append(f)`),
  "preconnect in a template": `<template id="t"><link rel="preconnect" href="http://127.0.0.1:PORT"></template><script>document.body.append(document.getElementById("t").content.cloneNode(true))</script>`,
  "preconnect in svg": `<svg><foreignObject><link rel="preconnect" href="http://127.0.0.1:PORT"></foreignObject></svg>`,
  "other links": ["prefetch", "prerender", "modulepreload", "stylesheet", "icon", "manifest", "next", "alternate stylesheet", "search", "import", "pingback", "compression-dictionary"]
    .map((rel) => `<link rel="${rel}" href="http://127.0.0.1:PORT/${rel}">`).join("") + ["script", "style", "image", "font", "fetch", "document", "track", "video"].map((as) => `<link rel="preload" as="${as}" href="http://127.0.0.1:PORT/${as}" crossorigin>`).join(""),
  "meta refresh": `<meta http-equiv="refresh" content="0;url=http://127.0.0.1:PORT/">`,
  "meta refresh to javascript:": `<meta http-equiv="refresh" content="0;url=javascript:${quoted(SEND)}">`,
  "other metas": `<meta http-equiv="link" content="<http://127.0.0.1:PORT>; rel=preconnect"><meta http-equiv="x-dns-prefetch-control" content="on"><meta http-equiv="content-security-policy" content="report-uri http://127.0.0.1:PORT/report; img-src 'none'"><img src="http://127.0.0.1:PORT/i">`,
  base: `<base href="http://127.0.0.1:PORT/"><img src="x"><script src="y"></script><a id="a" href="z">z</a><script>document.getElementById("a").click()</script>`,
  "images and media": `<img src="http://127.0.0.1:PORT/a" srcset="http://127.0.0.1:PORT/b 2x"><picture><source srcset="http://127.0.0.1:PORT/c"><img></picture><video poster="http://127.0.0.1:PORT/d" src="http://127.0.0.1:PORT/e" autoplay><track src="http://127.0.0.1:PORT/f" default></video><audio src="http://127.0.0.1:PORT/g" autoplay></audio><input type="image" src="http://127.0.0.1:PORT/h"><body background="http://127.0.0.1:PORT/i"><table background="http://127.0.0.1:PORT/j"><td>x</table>`,
  svg: `<svg width="100" height="100"><image href="http://127.0.0.1:PORT/a" width="9" height="9"/><use href="http://127.0.0.1:PORT/b#x"/><feImage href="http://127.0.0.1:PORT/c"/><filter id="f"><feImage href="http://127.0.0.1:PORT/d"/></filter><rect width="9" height="9" filter="url(#f)" fill="url(http://127.0.0.1:PORT/e#x)"/><script href="http://127.0.0.1:PORT/f"></script><text cursor="url(http://127.0.0.1:PORT/g)">x</text><style>@import "http://127.0.0.1:PORT/h";</style></svg>`,
  mathml: `<math href="http://127.0.0.1:PORT/a" id="m"><mi xlink:href="http://127.0.0.1:PORT/b">x</mi></math><script>document.getElementById("m").dispatchEvent(new MouseEvent("click", { bubbles: true }))</script>`,
  styles: `<style>@import "http://127.0.0.1:PORT/a"; @import url(http://127.0.0.1:PORT/b) layer(x); @font-face { font-family: f; src: url(http://127.0.0.1:PORT/c) } body { font-family: f; background: url(http://127.0.0.1:PORT/d); cursor: url(http://127.0.0.1:PORT/e), auto; list-style: url(http://127.0.0.1:PORT/f); border-image: url(http://127.0.0.1:PORT/g) 1; mask: url(http://127.0.0.1:PORT/h#x); filter: url(http://127.0.0.1:PORT/i#x); clip-path: url(http://127.0.0.1:PORT/j#x); content: image-set("http://127.0.0.1:PORT/k" 1x); shape-outside: url(http://127.0.0.1:PORT/l) } p::before { content: url(http://127.0.0.1:PORT/m) }</style><p style="background: image-set(url(http://127.0.0.1:PORT/n) 1x)">x`,
  "styles by script": script(`const s = new CSSStyleSheet(); s.replaceSync("body { background: url(http://127.0.0.1:PORT/a) }"); document.adoptedStyleSheets = [s]; new FontFace("f", "url(http://127.0.0.1:PORT/b)").load().catch(() => {}); try { CSS.paintWorklet.addModule("http://127.0.0.1:PORT/c") } catch {}`),
  "an xml stylesheet": script(`document.insertBefore(document.createProcessingInstruction("xml-stylesheet", 'href="http://127.0.0.1:PORT/a" type="text/css"'), document.documentElement)`),
  forms: `<form id="f" action="http://127.0.0.1:PORT/a" method="post"><input name="q"></form><form id="g" action="http://127.0.0.1:PORT/b" target="_blank"><input name="q"></form><script>for (const id of ["f", "g"]) try { document.getElementById(id).submit() } catch {}</script>`,
  links: `<a id="a" href="http://127.0.0.1:PORT/a" ping="http://127.0.0.1:PORT/b">x</a><a id="b" href="http://127.0.0.1:PORT/c" target="_top">x</a><a id="c" href="http://127.0.0.1:PORT/d" target="_blank">x</a><a id="d" href="http://127.0.0.1:PORT/e" download>x</a><script>for (const id of "bcda") document.getElementById(id).click()</script>`,
  "a ping alone": `<a id="a" href="#x" ping="http://127.0.0.1:PORT/b">x</a><script>document.getElementById("a").click()</script>`,
  requests: script(`
    const to = "http://127.0.0.1:PORT/"
    for (const way of [() => fetch(to + 1, { mode: "no-cors" }), () => fetch(to + 2, { keepalive: true, method: "POST", mode: "no-cors" }), () => fetchLater(to + 3, { activateAfter: 0 }), () => { const x = new XMLHttpRequest(); x.open("GET", to + 4); x.send() }, () => navigator.sendBeacon(to + 5, "x"),
      () => new WebSocket("ws://127.0.0.1:PORT/6"), () => new WebSocketStream("ws://127.0.0.1:PORT/7"), () => new EventSource(to + 8), () => new WebTransport("https://127.0.0.1:PORT/9"), () => { new Image().src = to + 10 }, () => { new Audio(to + 11).play() }, () => import(to + 12), () => new Worker(to + 13), () => navigator.serviceWorker.register(to + 14), () => new TCPSocket("127.0.0.1", PORT), () => new UDPSocket({ remoteAddress: "127.0.0.1", remotePort: PORT }), () => new PresentationRequest(to + 15).start(), () => new PushManager(), () => navigator.share({ url: to }), () => navigator.registerProtocolHandler("web+x", to + "%s"), () => new PaymentRequest([{ supportedMethods: to + 16 }], { total: { label: "x", amount: { currency: "EUR", value: "1" } } }).canMakePayment(), () => navigator.credentials.get({ identity: { providers: [{ configURL: to + 17, clientId: "x" }] } }), () => sharedStorage.selectURL("x", [{ url: to + 18 }]), () => navigator.joinAdInterestGroup({ owner: "https://127.0.0.1:PORT", name: "x", biddingLogicURL: "https://127.0.0.1:PORT/19" }, 1000), () => document.requestStorageAccess(), () => Notification.requestPermission(), () => navigator.login.setStatus("logged-in"), () => navigator.setAppBadge(1), () => new NavigationPreloadManager(), () => { const v = document.createElement("video"); v.src = to + 20; document.body.append(v); v.play() }, () => self.navigation.navigate(to + 21), () => top.location.replace(to + 22), () => parent.location.replace(to + 23), () => history.pushState(0, "", to + 24)])
      try { way()?.catch?.(() => {}) } catch {}`),
  navigation: script(`location.href = "http://127.0.0.1:PORT/"`),
  "navigation by an svg link": `<svg><a id="a" href="http://127.0.0.1:PORT/"><text>x</text></a></svg><script>document.getElementById("a").dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }))</script>`,
};

/**
 * What no page can forbid its browser: before it asks whether a frame may go to an address, Chromium connects to it, and
 * each browser does so for a preconnect that a script makes. Nothing is sent, but the name of the host was looked up.
 */
const CONNECT_ONLY = [
  "preconnect by script", "preconnect by another document", "preconnect by a fragment", "preconnect by xml", "preconnect by innerHTML", "preconnect by document.write",
  "preconnect, an attribute at a time", "preconnect, changed", "preconnect, an attribute's value", "preconnect in a shadow tree", "preconnect in a frame by script",
  "preconnect in a template",
];
const CONNECT_ONLY_IN_CHROMIUM = ["links", "requests", "navigation", "navigation by an svg link", "its own javascript: by a link"];

/** What pages that models write do, and what comes of it. */
const WORKS = `<!DOCTYPE html><html><head><title>T</title><link rel=preconnect href=http://127.0.0.1:PORT>
<script>window.got = []; got.push("state " + document.readyState); document.addEventListener("DOMContentLoaded", () => got.push("dcl " + !!document.getElementById("late"))); addEventListener("load", () => got.push("load"))</script>
<script type="module">got.push("module " + !!document.getElementById("late"))</script>
<script type="application/json" id="data">{"a": "</b>"}</script>
<style>body { color: red }</style></head>
<body onload="got.push('body load')">
<!-- </script> --><textarea>a </script> b</textarea>
<button id="b" onclick="got.push('click ' + (this === document.getElementById('b')) + ' ' + event.type); return false">x</button>
<img src="data:image/png;base64,x" onerror="got.push('no image')">
<svg width="9" height="9" onclick="got.push('svg click')" id="g"><script>got.push("svg script")</script></svg>
<script>document.write("<p id=written>w</p><script>got.push('written ' + !!written)<\\/script>")</script>
<p id="late">late</p>
<script>
const s = document.createElement("script")
s.textContent = "got.push('made ' + typeof RTCPeerConnection)"
document.body.append(s)
document.body.insertAdjacentHTML("beforeend", "<b id=dyn onclick=\\"got.push('later click')\\">d</b>")
addEventListener("load", () => setTimeout(() => {
  for (const id of ["b", "dyn"]) document.getElementById(id).click()
  document.getElementById("g").dispatchEvent(new MouseEvent("click"))
  document.getElementById("late").setAttribute("onclick", "got.push('set click')")
  setTimeout(() => {
    document.getElementById("late").click()
    got.push(document.compatMode, document.title, document.querySelector("textarea").value, document.getElementById("data").textContent, getComputedStyle(document.body).color)
    parent.postMessage({ got }, "*")
  }, 0)
}, 0))
</script></body></html>`;
const WORKED = [
  "state loading", "svg script", "written true", "made undefined", "module true", "dcl true", "no image", "load", "body load", "click true click", "later click", "svg click",
  "set click", "CSS1Compat", "T", "a </script> b", '{"a": "</b>"}', "rgb(255, 0, 0)",
];

await main(async (walk, job) => {
  const { page } = walk;
  const names = Object.keys(WAYS);
  const at = (port, text) => text.replaceAll("PORT", port).replaceAll("B64", Buffer.from(PAGE.replaceAll("PORT", port)).toString("base64"));

  await walk.step("open", async () => {
    await page.goto(job.url);
    await page.waitForSelector("form.composer textarea", { visible: true });
    await page.evaluate(() => yaa.load("artifact"));
  });

  await walk.step("a page works", async () => {
    const shown = (text) => page.evaluate((text) => new Promise((resolve) => {
      addEventListener("message", ({ data }) => data?.got && resolve(data.got));
      yaa.use("ext/artifact/preview").open(text, "html");
    }), text);
    const got = await shown(at(job.ports[0], WORKS));
    const quirks = await shown("<p>x<script>parent.postMessage({ got: document.compatMode }, '*')</script>");
    if (String(got.toSorted()) !== String(WORKED.toSorted()) || quirks !== "BackCompat") throw new Error(`${JSON.stringify(got)} ${quirks}`);
  });

  // The client's own page has no policy for these two: so the listeners hear.
  await walk.step("the listeners hear", async () => {
    await page.evaluate(at(job.ports[1], SEND));
    await page.evaluate((port) => {
      const link = document.createElement("link");
      Object.assign(link, { rel: "preconnect", href: `http://127.0.0.1:${port}/` });
      document.head.append(link);
    }, job.ports[2]);
  });

  await walk.step("no way out of the frame", async () => {
    const ports = new Map(names.map((name, i) => [name, job.ports[3 + i]]));
    if (!ports.get(names.at(-1))) throw new Error(`${names.length + 3} ports are needed`);
    for (let first = 0; first < names.length; first += 10) {
      const texts = names.slice(first, first + 10).map((name) => at(ports.get(name), WAYS[name]));
      await page.evaluate((texts) => texts.forEach((text) => yaa.use("ext/artifact/preview").open(text, "html")), texts);
      const until = Date.now() + 4000; // as long as the slower browser takes for the first word of a peer connection
      await page.waitForFunction((end) => Date.now() > end, { polling: 200 }, until);
      await page.evaluate(() => document.querySelectorAll("dialog.artifact").forEach((one) => one.close()));
    }
    const { answer: heard } = await walk.ask("heard");
    const control = [heard[job.ports[1]] ?? [], heard[job.ports[2]] ?? []];
    if (!control[0].some((one) => one.startsWith("udp")) || !control[1].length) throw new Error(`the listeners hear nothing: ${JSON.stringify(control)}`);
    const may = new Set([...CONNECT_ONLY, ...(job.browser === "chromium" ? CONNECT_ONLY_IN_CHROMIUM : [])]);
    const out = names.filter((name) => heard[ports.get(name)]?.some((one) => !(may.has(name) && one === "tcp 0"))).map((name) => `${name}: ${heard[ports.get(name)]}`);
    if (heard[job.ports[0]]) out.push("a page that works");
    const here = await page.evaluate(() => location.href);
    if (out.length || !here.startsWith(job.url.split("#")[0])) throw new Error(`${out.join("\n")} ${here}`);
    return { tried: names.length, connected: names.filter((name) => heard[ports.get(name)]) };
  });
});
