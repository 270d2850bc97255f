// Icons that only parts of the page use which come later. They join those of index.html.

yaa.define('ui/more-icons', [], () => {
  /** @type {Record<string, [string, Record<string, string | number>][]>} */
  const ICONS = {
    eye: [['path', { d: 'M2.5 10S5.2 4.8 10 4.8 17.5 10 17.5 10 14.8 15.2 10 15.2 2.5 10 2.5 10z' }], ['circle', { cx: 10, cy: 10, r: 2.3 }]],
    wrap: [['path', { d: 'M3 5h14M3 10h11a2.7 2.7 0 0 1 0 5.4h-3.5M12 13.4l-2 2 2 2M3 15.4h4' }]],
    compare: [['rect', { x: 3, y: 4, width: 5.5, height: 12, rx: 1.5 }], ['rect', { x: 11.5, y: 4, width: 5.5, height: 12, rx: 1.5 }]],
    upload: [['path', { d: 'M10 12.5v-9M6 7l4-4 4 4M4 16.5h12' }]],
    book: [['path', { d: 'M4.5 4.5A1.5 1.5 0 0 1 6 3h9.5v14H6a1.5 1.5 0 0 1-1.5-1.5zM4.5 15A1.5 1.5 0 0 1 6 13.5h9.5M8 6.5h4.5' }]],
    keyboard: [['rect', { x: 2.5, y: 5, width: 15, height: 10, rx: 2 }], ['path', { d: 'M5.5 8h.01M8.5 8h.01M11.5 8h.01M14.5 8h.01M7 12h6' }]],
    tree: [['path', { d: 'M4 4h5M4 4v12h5M4 10h5M12 4h4M12 10h4M12 16h4' }]],
    star: [['path', { d: 'M10 3l2.1 4.5 4.9.6-3.6 3.4.9 4.9-4.3-2.4-4.3 2.4.9-4.9L3 8.1l4.9-.6z' }]],
    file: [['path', { d: 'M5.5 3h6l3.5 3.5V17h-9.5zM11.5 3v3.5H15' }]],
    mic: [['rect', { x: 7.5, y: 2.8, width: 5, height: 9, rx: 2.5 }], ['path', { d: 'M4.8 9.5a5.2 5.2 0 0 0 10.4 0M10 14.7v2.6' }]],
    sound: [['path', { d: 'M3.5 8v4h2.8l3.7 3.2V4.8L6.3 8zM13 7.6a3.4 3.4 0 0 1 0 4.8M15.2 5.4a6.5 6.5 0 0 1 0 9.2' }]],
    play: [['path', { d: 'M6.5 4.5v11l9-5.5z' }]],
  }

  /** @param {string} name @param {Record<string, any>} attributes @param {Element[]} [children] */
  function element(name, attributes, children = []) {
    const el = document.createElementNS('http://www.w3.org/2000/svg', name)
    for (const [key, value] of Object.entries(attributes)) el.setAttribute(key, String(value))
    el.append(...children)
    return el
  }

  function start() {
    const shapes = Object.entries(ICONS).map(([name, parts]) => element('symbol', { id: `i-${name}`, viewBox: '0 0 20 20' }, parts.map((part) => element(...part))))
    document.querySelector('svg:has(> symbol)')?.append(...shapes)
  }

  return { start }
})
