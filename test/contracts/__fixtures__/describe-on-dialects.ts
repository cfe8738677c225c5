import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe } from 'node:test';
import { openStore, type Store } from '../../../src/store/store.ts';
import { DIALECTS } from './dialects.ts';

/** A store for one suite, and a folder that is removed after it. */
interface OpenedStore {
  readonly store: Store;
  readonly folder: string;
}

interface DialectSuite {
  readonly dialectName: string;
  /** Registers a hook that runs once, before the tests of the suite. */
  onOpen(hook: (opened: OpenedStore) => void | Promise<void>): void;
}

/**
 * Defines a suite for every dialect. Each opens a store of its own before its tests and closes it after its own `after`
 * hooks.
 */
export function describeOnDialects(subject: string, defineSuite: (suite: DialectSuite) => void): void {
  for (const { name, dialect } of DIALECTS)
    describe(`${subject} on ${name}`, () => {
      const hooks: Parameters<DialectSuite['onOpen']>[0][] = [];
      let opened: OpenedStore | undefined;
      before(async () => {
        const folder = await mkdtemp(join(tmpdir(), 'parley-store-'));
        opened = { folder, store: await openStore({ dialect: dialect(folder) }) };
        for (const hook of hooks) await hook(opened);
      });
      defineSuite({ dialectName: name, onOpen: (hook) => void hooks.push(hook) });
      after(async () => {
        if (!opened) return;
        await opened.store.close();
        await rm(opened.folder, { recursive: true });
      });
    });
}
