// The only script of the pages. All of them work without it.

/** A file can be dropped on its field; the zone of the reader stands where nobody chose another. */
function takeDroppedFiles() {
  const place = document.querySelector('.drop');
  const field = place?.querySelector('input[type="file"]');
  if (!field) return;
  const chosen = place.querySelector('[data-chosen]');
  const show = () => {
    chosen.textContent = field.files.length === 0 ? '' : `Chosen: ${field.files[0].name}`;
  };
  field.addEventListener('change', show);
  for (const kind of ['dragenter', 'dragover', 'dragleave', 'drop']) {
    place.addEventListener(kind, (event) => {
      event.preventDefault();
      place.classList.toggle('over', kind === 'dragenter' || kind === 'dragover');
    });
  }
  place.addEventListener('drop', ({ dataTransfer }) => {
    if (dataTransfer.files.length === 0) return;
    const files = new DataTransfer();
    files.items.add(dataTransfer.files[0]);
    field.files = files.files;
    show();
  });
  const zone = document.querySelector('.upload input[name="zone"]');
  const isRefused = document.querySelector('.refusal') !== null;
  if (zone && zone.value === 'UTC' && !isRefused) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
}
takeDroppedFiles();

/** Somebody who listens is told how far a run is, at most so often unless its state changed. */
const TOLD_EVERY_MS = 20_000;

/** The progress of a run follows what the server sends; what depends on its state is loaded anew when that changes. */
function followRun() {
  const place = document.querySelector('[data-live]');
  if (!place) return;
  const tell = teller(document.querySelector('[data-live-note]'));
  let source = openLive(place, tell);
  // A browser has few connections for all its pages; one that nobody sees needs none.
  document.addEventListener('visibilitychange', () => {
    if (source.hasEnded) return;
    source.close();
    if (!document.hidden) source = openLive(place, tell);
  });
}

const LOST = 'Not connected: what stands here may be old.';
const SIGNED_OUT = 'You have been signed out. Reload the page to go on.';

function openLive(place, tell) {
  // The page's own address may be that of a form which was refused.
  const page = place.dataset.live.replace(/\/live$/, '');
  const source = new EventSource(place.dataset.live);
  source.addEventListener('open', () => tell('', { isUrgent: true, isShown: true }));
  source.addEventListener('message', ({ data }) => {
    const before = stateOf(place);
    const parts = partsOf(place);
    replaceIn(place, data);
    const isOther = stateOf(place) !== before;
    tell(place.querySelector('[data-words]')?.dataset.words ?? '', { isUrgent: isOther, isShown: true });
    if (partsOf(place) !== parts) refreshParts(page);
  });
  source.addEventListener('end', ({ data }) => {
    source.close();
    source.hasEnded = true;
    if (data === 'over') refreshParts(page);
    else tell(SIGNED_OUT, { isUrgent: true, isShown: false });
  });
  source.addEventListener('error', () => {
    const hasEnded = source.readyState === EventSource.CLOSED;
    tell(hasEnded ? 'Live progress has ended. Reload the page to go on.' : LOST, { isUrgent: true, isShown: false });
  });
  return source;
}

/** Moments stand in the zone of the reader, with UTC in their titles; without a script in that of the settings. */
function tellTimes() {
  for (const time of document.querySelectorAll('time:not([data-told])')) {
    const [day, clock] = new Date(time.dateTime).toLocaleString('sv').split(' ');
    time.title ||= time.textContent;
    time.dataset.told = '';
    time.textContent = `${day} ${clock.slice(0, 5)}`;
  }
}
tellTimes();

function stateOf(place) {
  return place.querySelector('[data-state]')?.dataset.state;
}

/** What buttons and reports beside the progress depend on. */
function partsOf(place) {
  return place.querySelector('[data-parts]')?.dataset.parts;
}

/** Keeps the keyboard where it was, on the link with the same address or in the same place or on the same table, and tables as they were scrolled. */
function replaceIn(place, html) {
  const links = [...place.querySelectorAll('a')];
  const focused = links.find((link) => link === document.activeElement);
  const before = [...place.querySelectorAll('.scroll')];
  const [held, lefts] = [before.indexOf(document.activeElement), before.map(({ scrollLeft }) => scrollLeft)];
  const folds = [...place.querySelectorAll('details')].map(({ open }) => open);
  place.innerHTML = html;
  [...place.querySelectorAll('details')].forEach((fold, index) => {
    fold.open = folds[index] ?? false;
  });
  letKeysScroll();
  tellTimes();
  const after = [...place.querySelectorAll('.scroll')];
  after.forEach((table, index) => {
    table.scrollLeft = lefts[index] ?? 0;
  });
  if (focused) {
    const fresh = [...place.querySelectorAll('a')];
    const same = fresh.find((link) => link.getAttribute('href') === focused.getAttribute('href'));
    (same ?? fresh[links.indexOf(focused)])?.focus();
  }
  after[held]?.focus({ preventScroll: true });
}

/** What is shown elsewhere on the page is told to those alone who listen. */
function teller(note) {
  let toldAt = Date.now();
  return (words, { isUrgent, isShown }) => {
    if (!note || note.textContent === words || (!isUrgent && Date.now() - toldAt < TOLD_EVERY_MS)) return;
    toldAt = Date.now();
    note.classList.toggle('visually-hidden', isShown);
    note.textContent = words;
  };
}

/** Whether somebody has begun to fill a form in, or is about to send it. */
function isBeingFilled(part) {
  const isTyping = part.contains(document.activeElement) && !document.activeElement.matches('a, summary, .scroll');
  return isTyping || [...part.querySelectorAll('input')].some(({ value, defaultValue }) => value !== defaultValue);
}

/**
 * Loads the page again for its parts that are marked; one in which somebody is typing stays as it is. Tells whether they may
 * still see it.
 */
async function refreshParts(address) {
  const answer = await fetch(address);
  if (!answer.ok || answer.redirected) return !answer.redirected;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  for (const part of document.querySelectorAll('[data-refreshed]')) {
    const fresh = page.getElementById(part.id);
    if (!fresh || isBeingFilled(part)) continue;
    replaceIn(part, fresh.innerHTML);
    if (!fresh.hasAttribute('data-asking')) part.removeAttribute('data-asking');
    // What somebody decides on stays as they see it.
    if (!fresh.hasAttribute('data-refreshed')) part.removeAttribute('data-refreshed');
  }
  return true;
}

const LOOK_EVERY_MS = 3000;

/** A page of what goes on is asked for again and again while somebody sees it. */
function lookAgain(tell = teller(document.querySelector('[data-live-note]'))) {
  const address = document.querySelector('[data-again]')?.dataset.again;
  if (!address) return;
  setTimeout(async () => {
    let isIn = true;
    try {
      isIn = document.hidden || (await refreshParts(address));
      tell(isIn ? '' : SIGNED_OUT, { isUrgent: true, isShown: false });
    } catch {
      tell(LOST, { isUrgent: true, isShown: false });
    }
    if (isIn) lookAgain(tell);
  }, LOOK_EVERY_MS);
}
lookAgain();

const ASK_AGAIN_MS = 1500;
const ASKED_MAX = 60;

/** What the server is still finding out is shown once it is there. */
function awaitAnswers(asked = 0) {
  if (asked >= ASKED_MAX || !document.querySelector('[data-asking]')) return;
  setTimeout(async () => {
    await refreshParts(location.pathname);
    awaitAnswers(asked + 1);
  }, ASK_AGAIN_MS);
}
awaitAnswers();

/** A table that is wider than its window is scrolled by the arrow keys, in every browser. */
function letKeysScroll() {
  for (const place of document.querySelectorAll('.scroll')) {
    const isWide = place.scrollWidth > place.clientWidth;
    if (isWide === place.hasAttribute('tabindex')) continue;
    const marks = {
      tabindex: '0',
      role: 'group',
      'aria-label': place.querySelector('caption')?.textContent ?? 'Table',
    };
    for (const [name, value] of Object.entries(marks)) {
      if (isWide) place.setAttribute(name, value);
      else place.removeAttribute(name);
    }
  }
}
letKeysScroll();
window.addEventListener('resize', letKeysScroll);
followRun();

/** A passkey answers in the place of a code, where the browser has passkeys. */
function offerPasskeys() {
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return;
  for (const field of document.querySelectorAll('input[data-passkey]')) offerPasskey(field);
  const form = document.querySelector('form[data-passkey-new]');
  if (!form) return;
  form.hidden = false;
  form.addEventListener('submit', (event) => {
    if (form.elements.credential.value !== '') return;
    event.preventDefault();
    withNote(form.querySelector('[data-passkey-note]'), () => makePasskey(form));
  });
}

function offerPasskey(field) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Use a passkey';
  const note = document.createElement('output');
  note.className = 'hint';
  field.after(' ', button, ' ', note);
  button.addEventListener('click', () => withNote(note, () => answerWithPasskey(field)));
}

async function withNote(note, work) {
  note.textContent = '';
  try {
    note.textContent = await work();
  } catch {
    note.textContent = 'No passkey answered.';
  }
}

async function answerWithPasskey(field) {
  const { form } = field;
  const options = await askFor('/second-factor/challenge', form);
  if (!options) return 'You have no passkey. Type a code.';
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options);
  const { id, response } = (await navigator.credentials.get({ publicKey })).toJSON();
  const { clientDataJSON, authenticatorData, signature } = response;
  field.value = JSON.stringify({ id, clientDataJSON, authenticatorData, signature });
  const buttons = form.querySelectorAll('[type="submit"]');
  if (buttons.length === 1) form.requestSubmit(buttons[0]);
  return 'Your passkey has answered.';
}

async function makePasskey(form) {
  const options = await askFor('/second-factor/passkey/begin', form);
  if (!options) return 'First give a code of your second factor, or sign in again.';
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options);
  form.elements.credential.value = JSON.stringify((await navigator.credentials.create({ publicKey })).toJSON());
  form.requestSubmit();
  return '';
}

/** Undefined for what is refused. */
async function askFor(address, form) {
  const csrf = form.elements.csrf?.value ?? '';
  const answer = await fetch(address, { method: 'POST', body: new URLSearchParams({ csrf }) });
  return answer.ok && !answer.redirected ? await answer.json() : undefined;
}
offerPasskeys();
