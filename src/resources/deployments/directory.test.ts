import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deploymentRecord } from '../../core/__fixtures__/deployment-record.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { createDeploymentDirectory } from './directory.ts';

const PLACE = { region: 'cn-beijing', workspace: 'w' } as const;

/** A directory over a store that is changed and asked by hand. */
function createRoom() {
  let records: readonly DeploymentRecord[] = [];
  let changes = 0;
  let failure: Error | undefined;
  let look: () => void = () => undefined;
  const reads = { counts: 0, lists: 0 };
  const errors: string[] = [];
  /** Present while readings wait. */
  let gate: Promise<void> | undefined;
  const directory = createDeploymentDirectory({
    store: {
      deployments: {
        async changes() {
          reads.counts++;
          await gate;
          if (failure) throw failure;
          return changes;
        },
        async listAll() {
          reads.lists++;
          return records;
        },
      },
    },
    log: { error: (message) => void errors.push(message) },
    every(_ms, run) {
      look = run;
      return () => (look = () => undefined);
    },
  });
  return {
    directory,
    reads,
    errors,
    look: () => look(),
    fail: (error: Error | undefined) => (failure = error),
    hold(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = undefined;
        resolve();
      };
    },
    write(...next: DeploymentRecord[]) {
      records = next;
      changes++;
    },
  };
}

describe('the directory of deployments', () => {
  it('knows each by its place and name', async () => {
    const { directory, write } = createRoom();
    const other = { ...PLACE, workspace: 'other' };
    const far = { ...PLACE, region: 'us-east-1' } as const;
    write(
      deploymentRecord({ id: 'a' }),
      deploymentRecord({ id: 'b', name: 'second' }),
      deploymentRecord({ id: 'c', workspace: 'other' }),
      deploymentRecord({ id: 'd', region: 'us-east-1' }),
    );
    assert.equal(directory.find(PLACE, 'm-ours'), undefined);
    await directory.refresh();
    const found = [PLACE, other, far].map((place) => directory.find(place, 'm-ours')?.id);
    assert.deepEqual(found, ['a', 'c', 'd']);
    assert.deepEqual(
      directory.list(PLACE).map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(directory.list({ ...other, region: 'us-east-1' }), []);
  });

  it('reads them only where there was a change', async () => {
    const { directory, write, reads } = createRoom();
    write(deploymentRecord());
    await directory.refresh();
    await directory.refresh();
    assert.deepEqual(reads, { counts: 2, lists: 1 });
    write();
    await directory.refresh();
    assert.equal(reads.lists, 2);
    assert.equal(directory.find(PLACE, 'm-ours'), undefined);
  });

  it('knows what was written before it is asked to look, also where a look goes on', async () => {
    const { directory, write, hold, reads } = createRoom();
    const go = hold();
    const first = directory.refresh();
    write(deploymentRecord());
    const others = [directory.refresh(), directory.refresh()];
    go();
    await Promise.all([first, ...others]);
    assert.equal(directory.find(PLACE, 'm-ours')?.id, 'dep_1');
    assert.equal(reads.counts, 2, 'those who came meanwhile share one');
  });

  it('looks by itself, and not twice at a time', async () => {
    const { directory, write, look, hold, reads } = createRoom();
    write(deploymentRecord());
    const go = hold();
    look();
    look();
    go();
    await directory.close();
    assert.equal(reads.counts, 1);
    assert.equal(directory.find(PLACE, 'm-ours')?.id, 'dep_1');
    look();
    assert.equal(reads.counts, 1, 'no look after its end');
  });

  it('goes on with what it knew where the store does not answer, and says so once', async () => {
    const { directory, write, fail, errors } = createRoom();
    write(deploymentRecord());
    await directory.refresh();
    fail(new Error('away'));
    write();
    await directory.refresh();
    await directory.refresh();
    assert.equal(directory.find(PLACE, 'm-ours')?.id, 'dep_1');
    assert.equal(errors.length, 1);
    fail(undefined);
    await directory.refresh();
    assert.equal(directory.find(PLACE, 'm-ours'), undefined);
    fail(new Error('away again'));
    await directory.refresh();
    assert.equal(errors.length, 2);
  });

  it('tells of those that are gone, and of a new one of the same name as another', async () => {
    const { directory, write } = createRoom();
    const gone: string[] = [];
    directory.whenGone(({ id }) => void gone.push(id));
    write(deploymentRecord({ id: 'a' }), deploymentRecord({ id: 'b', name: 'second' }));
    await directory.refresh();
    write(deploymentRecord({ id: 'c' }), deploymentRecord({ id: 'b', name: 'second', capacity: 2 }));
    await directory.refresh();
    assert.deepEqual(gone, ['a']);
    assert.equal(directory.find(PLACE, 'm-ours')?.id, 'c');
  });
});
