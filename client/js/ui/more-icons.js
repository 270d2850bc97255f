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
    limit: [['path', { d: 'M4 15a7.5 7.5 0 1 1 12 0M10 12l3-4.2' }]],
    pause: [['path', { d: 'M7 5v10M13 5v10' }]],
    tag: [['path', { d: 'M3.5 4.5v5.2l7 7 6-6-7-7H4.5a1 1 0 0 0-1 1z' }], ['circle', { cx: 7, cy: 7, r: 0.9 }]],
    trash: [['path', { d: 'M3.5 5.5h13M8 5.5V4a1 1 0 0 1 1-1h2a1 1 0 0 1 1 1v1.5M5 5.5l.7 9.6a2 2 0 0 0 2 1.9h4.6a2 2 0 0 0 2-1.9L15 5.5' }]],
    pin: [['path', { d: 'M7 3.5h6M8 3.5v5L5.5 12h9L12 8.5v-5M10 12v4.5' }]],
    download: [['path', { d: 'M10 3.5v9M6 9l4 4 4-4M4 16.5h12' }]],
    folder: [['path', { d: 'M3 5.5h5l1.8 2H17v8.5H3z' }]],
    key: [['circle', { cx: 7, cy: 13, r: 3.5 }], ['path', { d: 'M9.5 10.5L16.5 3.5M13 7l2.5 2.5' }]],
    link: [['path', { d: 'M8.5 11.5l3-3M9.5 6.5l2-2a2.8 2.8 0 0 1 4 4l-2 2M10.5 13.5l-2 2a2.8 2.8 0 0 1-4-4l2-2' }]],
    page: [['path', { d: 'M5.5 3h6L15 6.5V17H5.5zM11.5 3v3.5H15M8 10h4.5M8 13h4.5' }]],
    image: [['rect', { x: 3, y: 4, width: 14, height: 12, rx: 2 }], ['circle', { cx: 7.5, cy: 8.3, r: 1.2 }], ['path', { d: 'M4 14.5l4-3.7 2.8 2.5 2.4-2 3.3 2.9' }]],
    branch: [['circle', { cx: 6, cy: 4.5, r: 1.8 }], ['circle', { cx: 6, cy: 15.5, r: 1.8 }], ['circle', { cx: 14, cy: 7, r: 1.8 }], ['path', { d: 'M6 6.3v7.4M14 8.8c0 3-8 1.7-8 4.9' }]],
    tool: [['path', { d: 'M12.7 3.3a4.2 4.2 0 0 0-4 5.7l-5.1 5.1a1.65 1.65 0 0 0 2.3 2.3L11 11.3a4.2 4.2 0 0 0 5.7-4l-2.4 2.4-2.9-1.1-1.1-2.9z' }]],
    left: [['path', { d: 'M12.5 4.5L7 10l5.5 5.5' }]],
    thought: [['path', { d: 'M10 3a5.5 5.5 0 0 0-3.3 9.9c.5.4.8.9.8 1.5V15h5v-.6c0-.6.3-1.1.8-1.5A5.5 5.5 0 0 0 10 3zM8 17.5h4' }]],
    clock: [['circle', { cx: 10, cy: 10, r: 7 }], ['path', { d: 'M10 6v4.2l2.7 1.6' }]],
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
    const shapes = Object.entries(ICONS).map(([name, parts]) => element('symbol', { id: `i-${name}` }, parts.map((part) => element(...part))))
    document.querySelector('svg:has(> symbol)')?.append(...shapes)
  }

  return { start }
})
