// Set the chosen colours before the first paint, or each load flashes. No module: the kernel comes later.

try {
  const { theme } = JSON.parse(localStorage.getItem('yaa.settings') ?? '{}')
  const meta = /** @type {HTMLMetaElement | null} */ (document.querySelector('meta[name="color-scheme"]'))
  if (theme && meta) {
    document.documentElement.dataset.theme = theme
    meta.content = theme
  }
} catch { /* nothing may be stored */ }

// A page whose script does not come says so, and offers to try again.
setTimeout(() => {
  const root = document.getElementById('app')
  if (!root || root.firstChild) return
  const chinese = /^zh/.test(navigator.language)
  const button = document.createElement('button')
  button.textContent = chinese ? '重试' : 'Try again'
  button.onclick = () => location.reload()
  root.append(chinese ? '页面的一部分尚未到达，连接可能很慢或已中断。' : 'A part of the page has not come yet: the line is slow, or broken.', document.createElement('br'),
    chinese ? '可以继续等待，或' : 'Wait for it, or ', button)
}, 5000)
