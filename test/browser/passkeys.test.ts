import type { Browser, CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { hasBrowser, openBrowser, openVisitor, type Visitor } from './browser.ts';
import { openSite, type Site } from './site.ts';
import { handIn, payoutFile, seeTitle, signIn, signInFirst, upload } from './steps.ts';

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const MINUTE_MS = 60_000;

describe.runIf(hasBrowser())('a passkey', () => {
  let site: Site;
  let browser: Browser;
  beforeAll(async () => {
    [site, browser] = await Promise.all([openSite(), openBrowser()]);
    await site.serve();
    await site.addUser('root', 'admin');
  });
  afterAll(async () => {
    await browser?.close();
    await site?.close();
  });

  /** Somebody whose browser has an authenticator of its own; a passkey is bound to a name, and no address is one. */
  async function openPerson(name: string, role: 'maker' | 'checker'): Promise<Person> {
    const secret = await site.addUser(name, role);
    const visitor = await openVisitor(browser, site.base.replace('127.0.0.1', 'localhost'));
    const devtools = await visitor.page.context().newCDPSession(visitor.page);
    await devtools.send('WebAuthn.enable');
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await signInFirst(visitor.page, name, secret);
    return { ...visitor, devtools, authenticatorId };
  }

  test('lets its user sign in and approve, and a copy that counts behind it does not', async () => {
    const mo = await openPerson('mo', 'maker');
    const { page, strays, devtools, authenticatorId } = await openPerson('carla', 'checker');
    await addPasskey(page);
    expect(await page.locator('main ol li').count()).toBe(10);
    await page.goto('/second-factor');
    await page.getByText('You have a passkey since').waitFor();

    await upload(mo.page, 'passkey.csv', payoutFile(1, 'PASS'));
    const run = await handIn(mo.page);
    await signOut(page);
    await signIn(page, 'carla');
    await seeTitle(page, 'Second factor');
    await page.goto(`/runs/${run}/approve`);
    await seeTitle(page, 'Sign in');
    await signIn(page, 'carla');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await seeTitle(page, 'Today');

    // Six minutes later the proof is too old for an approval.
    await site.ageProofs(6 * MINUTE_MS);
    await page.goto(`/runs/${run}/approve`);
    await page.getByRole('button', { name: `Approve run ${run}` }).click();
    await page.getByLabel('Code of your second factor').waitFor();
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.waitForURL(`**/runs/${run}`);
    expect(strays.filter((stray) => !stray.includes('403'))).toEqual([]);

    // A copy of the authenticator, made before, counts as much as was seen already.
    const { credentials } = await devtools.send('WebAuthn.getCredentials', { authenticatorId });
    const [credential] = credentials;
    if (credential === undefined) throw new Error('the authenticator has no passkey');
    await devtools.send('WebAuthn.removeCredential', { authenticatorId, credentialId: credential.credentialId });
    await devtools.send('WebAuthn.addCredential', { authenticatorId, credential: { ...credential, signCount: 0 } });
    await signOut(page);
    await signIn(page, 'carla');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('This code is not right').first().waitFor();
  });

  test('goes when its user removes it', async () => {
    const { page, strays } = await openPerson('dora', 'checker');
    await addPasskey(page);
    await page.goto('/second-factor');
    await page.getByRole('table', { name: 'Your passkeys' }).waitFor();
    await page.locator('summary', { hasText: 'Remove' }).click();
    await page.getByRole('button', { name: 'Remove passkey 1' }).click();
    await page.getByText('You have none.').waitFor();
    expect(strays).toEqual([]);
  });
});

interface Person extends Visitor {
  readonly devtools: CDPSession;
  readonly authenticatorId: string;
}

async function addPasskey(page: Page): Promise<void> {
  await page.goto('/second-factor');
  await page.getByRole('button', { name: 'Add a passkey' }).click();
  await seeTitle(page, 'Recovery codes');
}

async function signOut(page: Page): Promise<void> {
  await page.goto('/runs');
  await page.locator('details.own summary').click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await seeTitle(page, 'Sign in');
}
