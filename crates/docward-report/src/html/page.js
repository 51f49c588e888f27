'use strict';
// Unpacks, filters, groups and pages. Everything shown was drawn and escaped by docward; this adds no markup
// made of data, except through textContent.
(() => {
  let PAGE = 25;
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

  // Findings, in groups. A page has so many groups, a group shows so many findings until more are asked for.
  const form = one('filter');
  const SEVERITIES = ['error', 'warning', 'note'];
  // Words that links of earlier versions use.
  const OLD = { warn: 'warning', info: 'note' };
  const FEW = 3;
  const MORE = 100;
  let findings = [];
  let headings = {};
  let matching = [];
  let groups = [];
  let page = 0;
  let unfolded = new Map();

  function wanted() {
    const data = new FormData(form);
    const of = (key) => data.get(key) || '';
    return { severity: data.getAll('severity'), group: of('group'), sort: of('sort'), area: of('area'), rule: of('rule'), change: of('change'), ns: of('ns').trim(), q: of('q').trim().toLowerCase() };
  }

  // A whole name means that database, collection or file; a part of one is searched for.
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
    return w.severity.includes(f.s) && (!w.area || f.a === w.area) && (!w.rule || f.r === w.rule)
      && (!w.change || f.c === w.change) && isAt(f, w.ns) && words.every((word) => f.t.includes(word));
  }

  function filter() {
    const w = wanted();
    const words = w.q.split(/\s+/).filter(Boolean);
    matching = findings.filter((f) => matches(f, w, words));
    const key = (f) => (w.group === 'place' ? f.n : f.r);
    const rank = (f) => SEVERITIES.indexOf(f.s);
    // Sorting keeps the report's order, by impact, among equals.
    if (w.sort === 'severity') matching.sort((a, b) => rank(a) - rank(b));
    if (w.sort === 'name') matching.sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : a.n < b.n ? -1 : a.n > b.n ? 1 : 0));
    const byKey = new Map();
    for (const f of matching) {
      if (!byKey.has(key(f))) byKey.set(key(f), []);
      byKey.get(key(f)).push(f);
    }
    groups = [...byKey].map(([name, list]) => ({ name, list }));
    unfolded = new Map();
    one('list').dataset.group = w.group || 'rule';
  }

  // What stands on paper alone: how much of a list is on it.
  function onPaper(id, shown, total, noun) {
    const missing = total - shown;
    const rest = PAGE === PRINTED ? 'a filter takes others, and the JSON report has all' : '“Prepare for printing” puts more on paper';
    one(id).textContent = missing === 0 ? '' : `On this paper: ${count(shown)} of ${count(total)} ${noun}; ${count(missing)} are left out (${rest}).`;
  }

  const plural = (n, noun) => `${count(n)} ${noun}${n === 1 ? '' : 's'}`;

  function tally(box, counts) {
    const kinds = ['bad', 'poor', 'note'];
    SEVERITIES.forEach((severity, i) => {
      if (!counts[i]) return;
      const b = make('span', plural(counts[i], severity));
      b.className = `badge ${kinds[i]}`;
      box.append(b, ' ');
    });
  }

  function drawGroup({ name, list }) {
    const box = make('section');
    box.className = 'group';
    const byPlace = one('list').dataset.group === 'place';
    if (byPlace) {
      const heading = make('h3');
      if (isCollection.has(name)) {
        const link = make('a', name);
        link.href = `#collection=${encodeURIComponent(name)}`;
        heading.append(link);
      } else heading.append(name || 'Whole deployment');
      box.append(heading);
    } else box.innerHTML = headings[name] || '';
    const sums = make('p');
    sums.className = 'tally';
    tally(sums, SEVERITIES.map((severity) => list.filter((f) => f.s === severity).length));
    box.querySelector('h3').after(sums);
    const places = make('div');
    const shown = PAGE === PRINTED ? list.length : Math.min(list.length, unfolded.get(name) || FEW);
    places.innerHTML = list.slice(0, shown).map((f) => f.h).join('');
    box.append(places);
    if (shown < list.length) {
      const rest = list.length - shown;
      const step = Math.min(rest, MORE);
      const more = make('button', step === rest ? `Show ${count(rest)} more` : `Show ${count(step)} of ${count(rest)} more`);
      more.type = 'button';
      more.className = 'more';
      more.addEventListener('click', () => {
        unfolded.set(name, shown + step);
        const now = drawGroup({ name, list });
        box.replaceWith(now);
        now.querySelectorAll('.finding summary')[shown]?.focus({ preventScroll: true });
        told();
      });
      box.append(more);
    }
    return box;
  }

  // So many findings fit on the page at once.
  function groupsAt(to) {
    if (PAGE !== PRINTED) return groups.slice(to * PAGE, (to + 1) * PAGE);
    let room = PRINTED;
    return groups.flatMap(({ name, list }) => {
      const taken = list.slice(0, Math.max(0, room));
      room -= taken.length;
      return taken.length ? [{ name, list: taken }] : [];
    });
  }

  function told() {
    const noun = one('list').dataset.group === 'place' ? 'place' : 'rule';
    const of = matching.length === findings.length ? plural(findings.length, 'finding') : `${count(matching.length)} of ${plural(findings.length, 'finding')}`;
    one('found').textContent = `${of} in ${plural(groups.length, noun)}`;
    onPaper('findings-on-paper', one('list').querySelectorAll('.finding').length, matching.length, 'findings');
  }

  function show(to) {
    page = to;
    one('list').replaceChildren(...groupsAt(page).map(drawGroup));
    told();
    pager(one('findings-pager'), page, groups.length, (p) => { show(p); one('findings').scrollIntoView(); });
  }

  // The filter is part of the address, so that it can be sent to somebody.
  const KEYS = ['group', 'sort', 'area', 'rule', 'change', 'ns', 'q'];
  function remember() {
    const w = wanted();
    const parts = new URLSearchParams();
    if (w.severity.length < SEVERITIES.length) parts.set('severity', w.severity.join(','));
    for (const key of KEYS) if (w[key]) parts.set(key, w[key]);
    const text = parts.toString();
    history.replaceState(null, '', text ? `#findings?${text}` : '#findings');
  }

  function set(parts) {
    if (!form) return;
    const severities = parts.has('severity') ? parts.get('severity').split(',').map((word) => OLD[word] || word) : SEVERITIES;
    for (const box of form.querySelectorAll('[name=severity]')) box.checked = severities.includes(box.value);
    for (const key of KEYS) if (form.elements[key]) form.elements[key].value = parts.get(key) || '';
    filter();
    show(0);
  }

  // Collections.
  const names = one('collection-filter');
  const isCollection = new Set();
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
    onPaper('collections-on-paper', shown.length, listed.length, 'collections');
    // They are unpacked when they are opened, and a printer does not wait.
    if (PAGE !== PRINTED) one('collections-on-paper').append(' Fields, pictures and indexes are on paper after “Prepare for printing” alone.');
    box.replaceChildren(...shown.map((c) => {
      const details = make('details');
      details.className = 'collection';
      details.dataset.i = c.i;
      const summary = make('summary');
      summary.append(make('b', c.n), ' ');
      if (c.k) { const k = make('span', c.k); k.className = 'badge'; summary.append(k, ' '); }
      tally(summary, c.c);
      if (c.o) { const b = make('span', `${count(c.o)} in the baseline`); b.className = 'badge'; summary.append(b, ' '); }
      const amounts = make('span', `${c.d} ${c.d === '1' ? 'document' : 'documents'}, ${c.b}`);
      amounts.className = 'counts';
      summary.append(amounts);
      details.append(summary);
      details.addEventListener('toggle', () => { if (details.open) fill(details); });
      return details;
    }));
    one('collections-found').textContent = listed.length === collections.length
      ? plural(collections.length, 'collection')
      : `${count(listed.length)} of ${plural(collections.length, 'collection')}`;
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
      const find = () => groups.findIndex(({ list }) => list.some((f) => f.f === hash.slice(8)));
      if (find() < 0) set(new URLSearchParams());
      const at = find();
      if (at < 0) return;
      const { name, list } = groups[at];
      unfolded.set(name, Math.max(FEW, list.findIndex((f) => f.f === hash.slice(8)) + 1));
      show(PAGE === PRINTED ? 0 : Math.floor(at / PAGE));
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
    } else if (hash === 'patterns' && one('patterns')) {
      one('patterns').open = true;
      one('patterns').scrollIntoView();
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

  // A box that is wider than the page says that it scrolls.
  function hints() {
    for (const hint of document.querySelectorAll('.hint')) {
      const box = hint.nextElementSibling;
      hint.classList.toggle('needed', box.scrollWidth > box.clientWidth + 1);
    }
  }
  addEventListener('resize', hints);

  async function start() {
    hints();
    if (names) {
      collections = (await unpack('collections-data')).map((c, i) => ({ ...c, i }));
      for (const c of collections) { databases.add(databaseOf(c.n)); known.add(c.n); isCollection.add(c.n); }
    }
    if (form) {
      const data = await unpack('findings-data');
      findings = data.list;
      headings = data.rules;
      for (const f of findings) { if (!f.n) continue; databases.add(databaseOf(f.n)); if (f.n.includes('.')) known.add(f.n); }
      let timer;
      const later = () => { clearTimeout(timer); timer = setTimeout(() => { filter(); show(0); remember(); }, 120); };
      form.addEventListener('input', later);
      form.addEventListener('submit', (event) => event.preventDefault());
      form.addEventListener('reset', () => setTimeout(() => { set(new URLSearchParams()); remember(); }));
      set(new URLSearchParams());
    }
    if (names) {
      names.addEventListener('input', listCollections);
      names.addEventListener('submit', (event) => event.preventDefault());
      listCollections();
    }
    await follow();
    document.documentElement.dataset.ready = 'yes';
  }
  start();
})();
