import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

const NOT_PUBLIC = "The URL's host has no public address.";
const SCHEME = 'The URL does not begin with http:// or https://.';
const LOGIN = 'The URL contains a user name or password.';
const PORT = 'The URL uses a port that is not allowed.';
const INVALID = 'The URL is not a valid URL.';

/** URLs with the error message; each is refused before a name is resolved or a connection opened. */
const URLS: readonly (readonly [url: string, message: string])[] = [
  // Addresses in their usual form.
  ['http://127.0.0.1/', NOT_PUBLIC],
  ['http://127.8.9.10:8000/admin', NOT_PUBLIC],
  ['http://0.0.0.0/', NOT_PUBLIC],
  ['http://0.1.2.3/', NOT_PUBLIC],
  ['http://10.0.0.1/', NOT_PUBLIC],
  ['http://10.255.255.255/', NOT_PUBLIC],
  ['http://100.64.0.1/', NOT_PUBLIC],
  ['http://100.100.100.200/latest/meta-data/', NOT_PUBLIC],
  ['http://100.127.255.255/', NOT_PUBLIC],
  ['http://168.63.129.16/machine?comp=goalstate', NOT_PUBLIC],
  ['http://169.254.0.1/', NOT_PUBLIC],
  ['http://169.254.169.254/latest/meta-data/iam/', NOT_PUBLIC],
  ['http://169.254.170.2/v2/credentials', NOT_PUBLIC],
  ['http://172.16.0.1/', NOT_PUBLIC],
  ['http://172.31.255.254/', NOT_PUBLIC],
  ['http://192.0.0.192/opc/v1/', NOT_PUBLIC],
  ['http://192.0.2.1/', NOT_PUBLIC],
  ['http://192.88.99.1/', NOT_PUBLIC],
  ['http://192.168.0.1/', NOT_PUBLIC],
  ['http://192.168.255.255/', NOT_PUBLIC],
  ['http://198.18.0.1/', NOT_PUBLIC],
  ['http://198.19.255.255/', NOT_PUBLIC],
  ['http://198.51.100.7/', NOT_PUBLIC],
  ['http://203.0.113.9/', NOT_PUBLIC],
  ['http://224.0.0.251/', NOT_PUBLIC],
  ['http://239.255.255.250/', NOT_PUBLIC],
  ['http://240.0.0.1/', NOT_PUBLIC],
  ['http://255.255.255.255/', NOT_PUBLIC],
  // The same addresses in other notations.
  ['http://2130706433/', NOT_PUBLIC],
  ['http://0x7f000001/', NOT_PUBLIC],
  ['http://017700000001/', NOT_PUBLIC],
  ['http://0177.0.0.1/', NOT_PUBLIC],
  ['http://0x7f.0.0.1/', NOT_PUBLIC],
  ['http://0x7F.0x0.0x0.0x1/', NOT_PUBLIC],
  ['http://127.1/', NOT_PUBLIC],
  ['http://127.0.1/', NOT_PUBLIC],
  ['http://127.0.0.1./', NOT_PUBLIC],
  ['http://0/', NOT_PUBLIC],
  ['http://0xa9fea9fe/', NOT_PUBLIC],
  ['http://2852039166/', NOT_PUBLIC],
  ['http://0251.0376.0251.0376/', NOT_PUBLIC],
  ['http://%31%32%37.0.0.1/', NOT_PUBLIC],
  ['http://①②⑦.⓪.⓪.①/', NOT_PUBLIC],
  ['http://127。0。0。1/', NOT_PUBLIC],
  ['http:127.0.0.1/', NOT_PUBLIC],
  ['http:\\\\127.0.0.1\\', NOT_PUBLIC],
  ['ht\ntp://127.0.0.1/', NOT_PUBLIC],
  [' http://127.0.0.1/', NOT_PUBLIC],
  ['http:///127.0.0.1/', NOT_PUBLIC],
  ['HTTP://127.0.0.1/', NOT_PUBLIC],
  // IPv6, and IPv4 within it.
  ['http://[::1]/', NOT_PUBLIC],
  ['http://[0:0:0:0:0:0:0:1]/', NOT_PUBLIC],
  ['http://[::]/', NOT_PUBLIC],
  ['http://[::ffff:127.0.0.1]/', NOT_PUBLIC],
  ['http://[::ffff:7f00:1]/', NOT_PUBLIC],
  ['http://[::ffff:8.8.8.8]/', NOT_PUBLIC],
  ['http://[::ffff:0:127.0.0.1]/', NOT_PUBLIC],
  ['http://[::127.0.0.1]/', NOT_PUBLIC],
  ['http://[::a9fe:a9fe]/', NOT_PUBLIC],
  ['http://[64:ff9b::127.0.0.1]/', NOT_PUBLIC],
  ['http://[64:ff9b::a9fe:a9fe]/', NOT_PUBLIC],
  ['http://[64:ff9b:1::1]/', NOT_PUBLIC],
  ['http://[100::1]/', NOT_PUBLIC],
  ['http://[2001::1]/', NOT_PUBLIC],
  ['http://[2001:0:7f00:1::]/', NOT_PUBLIC],
  ['http://[2001:10::1]/', NOT_PUBLIC],
  ['http://[2001:20::1]/', NOT_PUBLIC],
  ['http://[2001:db8::1]/', NOT_PUBLIC],
  ['http://[2002:7f00:1::]/', NOT_PUBLIC],
  ['http://[2002:a9fe:a9fe::1]/', NOT_PUBLIC],
  ['http://[3fff::1]/', NOT_PUBLIC],
  ['http://[4000::1]/', NOT_PUBLIC],
  ['http://[5f00::1]/', NOT_PUBLIC],
  ['http://[fc00::1]/', NOT_PUBLIC],
  ['http://[fd00:ec2::254]/latest/meta-data/', NOT_PUBLIC],
  ['http://[fe80::1]/', NOT_PUBLIC],
  ['http://[fec0::1]/', NOT_PUBLIC],
  ['http://[ff02::1]/', NOT_PUBLIC],
  ['http://[fe80::1%25eth0]/', INVALID],
  // Names that are never public.
  ['http://localhost/', NOT_PUBLIC],
  ['http://LOCALHOST:8000/', NOT_PUBLIC],
  ['http://localhost./', NOT_PUBLIC],
  ['http://localhost../', NOT_PUBLIC],
  ['http://a.localhost/', NOT_PUBLIC],
  ['http://loc\u00adalhost/', NOT_PUBLIC],
  ['http://ｌｏｃａｌｈｏｓｔ/', NOT_PUBLIC],
  ['http://localhost.localdomain/', NOT_PUBLIC],
  ['http://printer.local/', NOT_PUBLIC],
  ['http://metadata.google.internal/computeMetadata/v1/', NOT_PUBLIC],
  ['http://router.lan/', NOT_PUBLIC],
  ['http://nas.home.arpa/', NOT_PUBLIC],
  ['http://intranet/', NOT_PUBLIC],
  ['http://kubernetes.default.svc.cluster.local/', NOT_PUBLIC],
  // Schemes, logins, ports.
  ['file:///etc/passwd', SCHEME],
  ['ftp://public.example.com/', SCHEME],
  ['gopher://127.0.0.1:6379/_INFO', SCHEME],
  ['data:text/plain,hello', SCHEME],
  ['javascript:alert(1)', SCHEME],
  ['blob:http://public.example.com/a', SCHEME],
  ['ws://public.example.com/', SCHEME],
  ['unix:/var/run/docker.sock', SCHEME],
  ['dict://127.0.0.1:11211/stat', SCHEME],
  ['http://public.example.com@127.0.0.1/', LOGIN],
  ['http://user:password@public.example.com/', LOGIN],
  ['http://127.0.0.1\\@public.example.com/', NOT_PUBLIC],
  ['http://127.0.0.1#@public.example.com/', NOT_PUBLIC],
  ['http://public.example.com:22/', PORT],
  ['http://public.example.com:25/', PORT],
  ['http://public.example.com:0/', PORT],
  ['https://public.example.com:80443/', INVALID],
  ['http://public.example.com:443@127.0.0.1/', LOGIN],
  ['//public.example.com/', INVALID],
  ['public.example.com', INVALID],
  ['http://', INVALID],
  ['http://.', NOT_PUBLIC],
  ['http://a b/', INVALID],
  ['http://1.2.3.4.5/', INVALID],
  ['http://256.256.256.256/', INVALID],
  ['http://[::1/', INVALID],
  ['', INVALID],
];

/** Addresses that the resolver returns. */
const RESOLVED_ADDRESSES: readonly (readonly string[])[] = [
  ['127.0.0.1'],
  ['10.1.2.3'],
  ['169.254.169.254'],
  ['::1'],
  ['::ffff:10.0.0.1'],
  ['fe80::1%eth0'],
  ['fd12::1'],
  ['64:ff9b::7f00:1'],
  ['1.1.1.1', '127.0.0.1'],
  ['127.0.0.1', '1.1.1.1'],
  ['2606:4700:4700::1111', '192.168.1.1'],
  ['not an address'],
  [''],
  [],
];

async function getRejection(fetched: Promise<unknown>): Promise<ServiceError> {
  try {
    await fetched;
  } catch (thrown) {
    assert.ok(thrown instanceof ServiceError);
    return thrown;
  }
  return assert.fail('the URL was fetched');
}

describe('a guarded fetch of a forbidden URL', () => {
  for (const [url, message] of URLS) {
    it(`refuses ${JSON.stringify(url)} without resolving a name`, async () => {
      const fetch = createGuardedFetch({ resolve: () => assert.fail('the name was resolved') });
      const refusal = await getRejection(fetch(url, { bytesMax: 1_000 }));
      assert.deepEqual([refusal.kind, refusal.message], ['invalid-request', message]);
    });
  }

  for (const answer of RESOLVED_ADDRESSES) {
    it(`refuses a name that resolves to ${JSON.stringify(answer)}`, async () => {
      const fetch = createGuardedFetch({ resolve: async () => answer });
      const refusal = await getRejection(fetch('https://public.example.com/', { bytesMax: 1_000 }));
      assert.deepEqual([refusal.kind, refusal.message], ['invalid-request', NOT_PUBLIC]);
    });
  }

  it('refuses an unknown name with the same message', async () => {
    const fetch = createGuardedFetch({ resolve: () => Promise.reject(new Error('ENOTFOUND public.example.com')) });
    const refusal = await getRejection(fetch('https://public.example.com/', { bytesMax: 1_000 }));
    assert.deepEqual([refusal.kind, refusal.message], ['invalid-request', NOT_PUBLIC]);
  });

  it('refuses a URL above the length limit', async () => {
    const refusal = await getRejection(
      createGuardedFetch()(`https://public.example.com/${'a'.repeat(9_000)}`, { bytesMax: 1_000 }),
    );
    assert.deepEqual([refusal.kind, refusal.message], ['invalid-request', 'The URL is longer than 8192 characters.']);
  });

  it('refuses a port that the operator does not allow', async () => {
    const fetch = createGuardedFetch({ ports: [443] });
    for (const url of ['http://public.example.com/', 'https://public.example.com:8443/']) {
      assert.equal((await getRejection(fetch(url, { bytesMax: 1_000 }))).message, PORT);
    }
  });
});
