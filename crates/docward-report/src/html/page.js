'use strict';
// Unpacks, filters and pages. Everything shown was drawn and escaped by docward; this adds no markup
// made of data, except through textContent.
(() => {
  let PAGE = 50;
  // More at once makes a browser slow; a printer, too.
  const PRINTED = 2000;
  const one = (id) => document.getElementById(id);
  const make = (tag, text) => { const e = document.createElement(tag); if (text !== undefined) e.textContent = text; return e; };
  const count = (n) => n.toLocaleString('en-US');

  const unpacked = new Map();
  function unpack(id) {
    if (!unpacked.has(id)) {
      unpacked.set(id, (async () => {
        const bytes = Uint8Array.from(atob(one(id).textContent.trim()), (c) => c.charCodeAt(0));
        const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
        return JSON.parse(await new Response(stream).text());
      })());
    }
    return unpacked.get(id);
  }

  // Dark or light: as the system has it until the button is pressed.
  const theme = one('theme');
  const remembered = () => { try { return localStorage.getItem('docward-theme'); } catch { return null; } };
  if (remembered()) document.documentElement.dataset.theme = remembered();
  theme.addEventListener('click', () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    try { localStorage.setItem('docward-theme', root.dataset.theme); } catch { /* not remembered */ }
  });

  function pager(box, page, total, go) {
    const pages = Math.max(1, Math.ceil(total / PAGE));
    box.replaceChildren();
    if (pages === 1) return;
    const step = (text, to) => {
      const b = make('button', text);
      b.type = 'button';
      b.disabled = to < 0 || to >= pages || to === page;
      b.addEventListener('click', () => {
        go(to);
        // The buttons are new ones: the keyboard goes on where it was.
        const again = [...box.querySelectorAll('button')].find((x) => x.textContent === text && !x.disabled);
        (again || box.querySelector('button:not([disabled])'))?.focus({ preventScroll: true });
      });
      return b;
    };
    box.append(step('First', 0), step('Previous', page - 1), make('span', `Page ${count(page + 1)} of ${count(pages)}`), step('Next', page + 1), step('Last', pages - 1));
  }

  // Findings.
  const form = one('filter');
  let findings = [];
  let matching = [];
  let page = 0;

  function wanted() {
    const data = new FormData(form);
    return { severity: data.getAll('severity'), rule: data.get('rule'), change: data.get('change') || '', ns: (data.get('ns') || '').trim(), q: (data.get('q') || '').trim().toLowerCase() };
  }

  // A whole name means that database or collection; a part of one is searched for.
  const databaseOf = (name) => name.split('.')[0];
  let databases = new Set();
  let known = new Set();

  function isAt(f, ns) {
    if (!ns) return true;
    if (known.has(ns)) return f.n === ns;
    if (databases.has(ns)) return databaseOf(f.n) === ns;
    return f.n.includes(ns);
  }

  function matches(f, w, words) {
    return w.severity.includes(f.s) && (!w.rule || f.r === w.rule) && (!w.change || f.c === w.change)
      && isAt(f, w.ns) && words.every((word) => f.t.includes(word));
  }

  function filter() {
    const w = wanted();
    const words = w.q.split(/\s+/).filter(Boolean);
    matching = findings.filter((f) => matches(f, w, words));
  }

  // What stands on paper alone: how much of a list is on it.
  function onPaper(id, from, shown, total, noun) {
    const missing = total - shown;
    const rest = PAGE === PRINTED ? 'a filter takes others, and the JSON report has all' : '“Prepare for printing” puts more on paper';
    one(id).textContent = missing === 0 ? '' : `On this paper: ${noun} ${count(from + 1)} to ${count(from + shown)} of ${count(total)}; ${count(missing)} are left out (${rest}).`;
  }

  function show(to) {
    page = to;
    const from = page * PAGE;
    const shown = matching.slice(from, from + PAGE);
    onPaper('findings-on-paper', from, shown.length, matching.length, 'findings');
    one('list').innerHTML = shown.map((f) => f.h).join('');
    one('found').textContent = matching.length === findings.length
      ? `${count(findings.length)} findings`
      : `${count(matching.length)} of ${count(findings.length)} findings`;
    pager(one('findings-pager'), page, matching.length, (p) => { show(p); one('findings').scrollIntoView(); });
  }

  // The filter is part of the address, so that it can be sent to somebody.
  function remember() {
    const w = wanted();
    const parts = new URLSearchParams();
    if (w.severity.length < 3) parts.set('severity', w.severity.join(','));
    for (const key of ['rule', 'change', 'ns', 'q']) if (w[key]) parts.set(key, w[key]);
    const text = parts.toString();
    history.replaceState(null, '', text ? `#findings?${text}` : '#findings');
  }

  function set(parts) {
    if (!form) return;
    const severities = parts.has('severity') ? parts.get('severity').split(',') : ['error', 'warn', 'info'];
    for (const box of form.querySelectorAll('[name=severity]')) box.checked = severities.includes(box.value);
    for (const key of ['rule', 'change', 'ns', 'q']) if (form.elements[key]) form.elements[key].value = parts.get(key) || '';
    filter();
    show(0);
  }

  // Collections.
  const names = one('collection-filter');
  let collections = [];
  let listed = [];

  function listCollections() {
    const data = new FormData(names);
    const words = (data.get('name') || '').toLowerCase().split(/\s+/).filter(Boolean);
    listed = collections.filter((c) => words.every((word) => c.n.toLowerCase().includes(word)));
    if (data.get('order') === 'findings') {
      const weight = (c) => c.c[0] * 1e6 + c.c[1] * 1e3 + c.c[2];
      listed = [...listed].sort((a, b) => weight(b) - weight(a) || a.i - b.i);
    }
    showCollections(0);
  }

  function showCollections(to) {
    const box = one('collection-list');
    const shown = listed.slice(to * PAGE, (to + 1) * PAGE);
    onPaper('collections-on-paper', to * PAGE, shown.length, listed.length, 'collections');
    // They are unpacked when they are opened, and a printer does not wait.
    if (PAGE !== PRINTED) one('collections-on-paper').append(' Fields, pictures and indexes are on paper after “Prepare for printing” alone.');
    box.replaceChildren(...shown.map((c) => {
      const details = make('details');
      details.className = 'collection';
      details.dataset.i = c.i;
      const summary = make('summary');
      const [errors, warnings, notes] = c.c;
      const told = [[errors, 'bad', 'error'], [warnings, 'poor', 'warning'], [notes, 'note', 'note']].filter(([n]) => n > 0);
      summary.append(make('b', c.n), ' ');
      if (c.k) { const k = make('span', c.k); k.className = 'badge'; summary.append(k, ' '); }
      for (const [n, kind, noun] of told) { const b = make('span', `${count(n)} ${noun}${n === 1 ? '' : 's'}`); b.className = `badge ${kind}`; summary.append(b, ' '); }
      if (c.o) { const b = make('span', `${count(c.o)} in the baseline`); b.className = 'badge'; summary.append(b, ' '); }
      const amounts = make('span', `${c.d} documents, ${c.b}`);
      amounts.className = 'counts';
      summary.append(amounts);
      details.append(summary);
      details.addEventListener('toggle', () => { if (details.open) fill(details); });
      return details;
    }));
    one('collections-found').textContent = listed.length === collections.length
      ? `${count(collections.length)} collections`
      : `${count(listed.length)} of ${count(collections.length)} collections`;
    pager(one('collections-pager'), to, listed.length, (p) => { showCollections(p); one('collections').scrollIntoView(); });
  }

  async function fill(details) {
    if (details.dataset.filled) return;
    details.dataset.filled = 'yes';
    const size = Number(one('collection-list').dataset.block);
    const i = Number(details.dataset.i);
    const block = await unpack(`collections-${Math.floor(i / size)}`);
    const body = make('div');
    body.innerHTML = block[i % size];
    details.append(body);
  }

  // Somebody may have cut a link short.
  function decoded(text) { try { return decodeURIComponent(text); } catch { return text; } }

  // Links: #finding=…, #collection=…, #findings?….
  async function follow() {
    const hash = location.hash.slice(1);
    if (hash.startsWith('finding=') && form) {
      const at = () => matching.findIndex((f) => f.f === hash.slice(8));
      if (at() < 0) set(new URLSearchParams());
      if (at() < 0) return;
      show(Math.floor(at() / PAGE));
      const target = one(`finding-${hash.slice(8)}`);
      target.open = true;
      target.classList.add('here');
      target.scrollIntoView({ block: 'center' });
      target.querySelector('summary').focus({ preventScroll: true });
    } else if (hash.startsWith('collection=') && names) {
      const name = decoded(hash.slice(11));
      names.elements.name.value = '';
      listCollections();
      const at = listed.findIndex((c) => c.n === name);
      if (at < 0) return;
      showCollections(Math.floor(at / PAGE));
      const target = one('collection-list').children[at % PAGE];
      target.open = true;
      await fill(target);
      target.scrollIntoView();
      target.querySelector('summary').focus({ preventScroll: true });
    } else if (hash.startsWith('findings?') && form) {
      set(new URLSearchParams(hash.slice(9)));
      one('findings').scrollIntoView();
    }
  }

  async function copy(button) {
    const text = button.parentElement.querySelector('code').textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Older browsers, and those that do not trust files.
      const area = make('textarea');
      area.value = text;
      document.body.append(area);
      area.select();
      document.execCommand('copy');
      area.remove();
    }
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  }

  async function about(code) {
    const pages = await unpack('rules-data');
    const dialog = make('dialog');
    dialog.setAttribute('aria-label', `About ${code}`);
    dialog.innerHTML = pages[code] || '';
    const close = make('button', 'Close');
    close.type = 'button';
    close.addEventListener('click', () => dialog.close());
    dialog.append(close);
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('button');
    if (!button) return;
    if ('copy' in button.dataset) copy(button);
    else if (button.dataset.rule) about(button.dataset.rule);
    else if (button.dataset.filter) {
      set(new URLSearchParams({ rule: button.dataset.filter }));
      remember();
      one('findings').scrollIntoView();
    }
  });
  // On paper nothing can be opened: everything on the page is, and is closed again.
  addEventListener('beforeprint', () => {
    for (const d of document.querySelectorAll('details:not([open])')) { d.dataset.shut = 'yes'; d.open = true; }
  });
  addEventListener('afterprint', () => {
    for (const d of document.querySelectorAll('details[data-shut]')) { delete d.dataset.shut; d.open = false; }
  });
  // All findings and collections on one page, unpacked, since a printer does not wait.
  const whole = one('whole');
  if (whole) whole.addEventListener('click', async () => {
    whole.disabled = true;
    PAGE = PRINTED;
    if (form) show(0);
    if (names) {
      showCollections(0);
      for (const d of one('collection-list').children) await fill(d);
    }
    const more = (what, all) => (all > PRINTED ? [`${count(PRINTED)} of ${count(all)} ${what}`] : []);
    const parts = [...more('findings', matching.length), ...more('collections', listed.length)];
    whole.textContent = parts.length ? `Ready to print: ${parts.join(', ')}` : 'Ready to print';
    document.documentElement.dataset.whole = 'yes';
  });
  addEventListener('hashchange', follow);

  async function start() {
    if (form) {
      findings = await unpack('findings-data');
      for (const f of findings) { if (!f.n) continue; databases.add(databaseOf(f.n)); if (f.n.includes('.')) known.add(f.n); }
      let timer;
      const later = () => { clearTimeout(timer); timer = setTimeout(() => { filter(); show(0); remember(); }, 120); };
      form.addEventListener('input', later);
      form.addEventListener('submit', (event) => event.preventDefault());
      form.addEventListener('reset', () => setTimeout(() => { set(new URLSearchParams()); remember(); }));
      set(new URLSearchParams());
    }
    if (names) {
      collections = (await unpack('collections-data')).map((c, i) => ({ ...c, i }));
      for (const c of collections) { databases.add(databaseOf(c.n)); known.add(c.n); }
      names.addEventListener('input', listCollections);
      names.addEventListener('submit', (event) => event.preventDefault());
      listCollections();
    }
    await follow();
    document.documentElement.dataset.ready = 'yes';
  }
  start();
})();
