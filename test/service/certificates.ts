import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const EC_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export interface Identity {
  readonly key: string;
  readonly cert: string;
}

/** A certificate authority of a test's own, made with openssl. */
export interface Authority {
  /** Its certificate, PEM. */
  readonly cert: string;
  /** A server's certificate for `name`, as openssl writes it: `DNS:host` or `IP:address`; it may have ended. */
  issue(name: string, hasEnded?: boolean): Identity;
}

/** A certificate that nobody but its owner vouches for. */
export function selfSigned(name: string): Identity {
  return inFolder((path) => {
    openssl('req', '-x509', ...EC_KEY, '-days', '2', '-subj', `/CN=${name}`, ...outputs(path));
    return identityIn(path);
  });
}

export function makeAuthority(): Authority {
  const { key, cert } = selfSigned('payrun test authority');
  return {
    cert,
    issue: (name, hasEnded = false) =>
      inFolder((path) => {
        writeFileSync(path('ca-key.pem'), key);
        writeFileSync(path('ca-cert.pem'), cert);
        writeFileSync(path('index.txt'), '');
        writeFileSync(path('ca.cnf'), caConfig(path));
        const csr = path('csr.pem');
        const named = ['-subj', '/CN=payrun test', '-addext', `subjectAltName=${name}`];
        openssl('req', '-new', ...EC_KEY, ...named, '-keyout', path('key.pem'), '-out', csr);
        const life = hasEnded ? ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'] : ['-days', '2'];
        openssl('ca', '-batch', '-notext', '-config', path('ca.cnf'), '-in', csr, ...life, '-out', path('cert.pem'));
        return identityIn(path);
      }),
  };
}

type PathOf = (name: string) => string;

function caConfig(path: PathOf): string {
  return `[ca]
default_ca = own
[own]
certificate = ${path('ca-cert.pem')}
private_key = ${path('ca-key.pem')}
database = ${path('index.txt')}
new_certs_dir = ${path('')}
rand_serial = yes
default_md = sha256
policy = any
copy_extensions = copy
[any]
commonName = supplied
`;
}

function inFolder<T>(task: (path: PathOf) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-certificates-'));
  try {
    return task((name) => join(folder, name));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function outputs(path: PathOf): string[] {
  return ['-keyout', path('key.pem'), '-out', path('cert.pem')];
}

function identityIn(path: PathOf): Identity {
  return { key: readFileSync(path('key.pem'), 'utf8'), cert: readFileSync(path('cert.pem'), 'utf8') };
}

function openssl(...words: string[]): void {
  execFileSync('openssl', words, { stdio: 'ignore' });
}
