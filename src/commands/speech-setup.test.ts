import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createCatalogue } from '../catalogue/catalogue.ts';
import { expandCatalogue } from '../catalogue/expand-catalogue.ts';
import { readShippedCatalogue } from '../catalogue/shipped.ts';
import { createSpeechSetup } from './speech-setup.ts';

const PACKAGE = { name: 'p', version: '1', sha512: '', archiveBytes: 114e6, includedPaths: [] };
const RUNTIME = { name: 'speech', version: '2.0.0', licence: 'MIT', main: 'm', packages: [PACKAGE] };

describe('the setup of speech', async () => {
  const catalogue = createCatalogue(expandCatalogue(await readShippedCatalogue()));

  const open = ({ hasEngine = false, present = [] as readonly string[], isSupported = true } = {}) => {
    const installed: string[] = [];
    const setup = createSpeechSetup({
      catalogue,
      runtimes: {
        runtime: isSupported ? RUNTIME : undefined,
        locate: async () => (hasEngine ? '/e' : undefined),
        install: async () => {
          installed.push('engine');
          return '/e';
        },
      },
      weights: {
        locate: async ({ id }) => (present.includes(id) ? `/m/${id}` : undefined),
        pull: async ({ id }) => {
          installed.push(id);
          return `/m/${id}`;
        },
      },
    });
    return { setup, installed };
  };
  const progress = { signal: new AbortController().signal, onProgress: () => undefined };

  test('names the sizes of the engine and of all weights that run on it, and installs them', async () => {
    const { setup, installed } = open();
    const missing = await setup.findMissing();
    assert.equal(missing?.engineBytes, 114e6);
    assert.equal(Math.round((missing?.weightsBytes ?? 0) / 1e6), 172);
    await setup.install(progress);
    assert.deepEqual(installed, ['engine', 'whisper-base', 'all-minilm-l6-v2']);
  });

  test('installs only what is missing', async () => {
    const { setup, installed } = open({ hasEngine: true, present: ['whisper-base'] });
    const missing = await setup.findMissing();
    assert.equal(missing?.engineBytes, 0);
    assert.equal(Math.round((missing?.weightsBytes ?? 0) / 1e6), 23);
    await setup.install(progress);
    assert.deepEqual(installed.slice(-1), ['all-minilm-l6-v2']);
  });

  test('has nothing to add if everything is there, or the platform has no engine', async () => {
    const present = ['whisper-base', 'all-minilm-l6-v2'];
    assert.equal(await open({ hasEngine: true, present }).setup.findMissing(), undefined);
    assert.equal(await open({ isSupported: false }).setup.findMissing(), undefined);
  });
});
