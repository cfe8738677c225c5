import assert from 'node:assert/strict';
import { test } from 'node:test';
import { speechRuntime } from './speech-runtime.ts';
import { thisPlatform } from './this-platform.ts';

const ON: readonly [platform: string, arch: string, glibc: string | undefined][] = [
  ['linux', 'x64', '2.36'],
  ['linux', 'arm64', '2.36'],
  ['darwin', 'arm64', undefined],
  ['win32', 'x64', undefined],
  ['win32', 'arm64', undefined],
];

for (const [platform, arch, glibc] of ON)
  test(`of the runtime's libraries the one for ${platform}-${arch} is kept, and no other`, () => {
    const { packages } = speechRuntime({ platform, arch, glibc });
    const libraries = packages.flatMap(({ keeps }) => keeps.filter((path) => path.startsWith('bin/')));
    assert.deepEqual(libraries, [`bin/napi-v6/${platform}/${arch}/`]);
  });

test('a machine that it has no library for is told so', () => {
  const refused = (platform: string, arch: string, glibc?: string) => () => speechRuntime({ platform, arch, glibc });
  assert.throws(refused('darwin', 'x64'), {
    kind: 'unsupported',
    message: /for darwin-x64; there is one for linux-x64,/,
  });
  assert.throws(refused('linux', 'x64'), { kind: 'unsupported', message: /for linux-x64 without glibc/ });
  assert.throws(refused('freebsd', 'x64'), { kind: 'unsupported' });
});

test('this machine is told as Node tells it', () => {
  const { platform, arch } = thisPlatform();
  assert.deepEqual([platform, arch], [process.platform, process.arch]);
});
