import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getSpeechRuntime } from './speech-runtime.ts';
import { getCurrentPlatform } from './current-platform.ts';

const SUPPORTED_PLATFORMS: readonly [platform: string, arch: string, glibc: string | undefined][] = [
  ['linux', 'x64', '2.36'],
  ['linux', 'arm64', '2.36'],
  ['darwin', 'arm64', undefined],
  ['win32', 'x64', undefined],
  ['win32', 'arm64', undefined],
];

for (const [platform, arch, glibc] of SUPPORTED_PLATFORMS)
  test(`includes only the library for ${platform}-${arch}`, () => {
    const { packages } = getSpeechRuntime({ platform, arch, glibc });
    const libraries = packages.flatMap(({ includedPaths }) => includedPaths.filter((path) => path.startsWith('bin/')));
    assert.deepEqual(libraries, [`bin/napi-v6/${platform}/${arch}/`]);
  });

test('rejects a machine without a library', () => {
  const getUnsupported = (platform: string, arch: string, glibc?: string) => () =>
    getSpeechRuntime({ platform, arch, glibc });
  assert.throws(getUnsupported('darwin', 'x64'), {
    kind: 'unsupported',
    message: /for darwin-x64; supported platforms: linux-x64,/,
  });
  assert.throws(getUnsupported('linux', 'x64'), { kind: 'unsupported', message: /for linux-x64 without glibc/ });
  assert.throws(getUnsupported('freebsd', 'x64'), { kind: 'unsupported' });
});

test('detects the platform, processor and C library that Node reports', () => {
  const { platform, arch } = getCurrentPlatform();
  assert.deepEqual([platform, arch], [process.platform, process.arch]);
});
