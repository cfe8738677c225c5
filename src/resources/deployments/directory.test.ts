import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTestDeployment } from '../../core/__fixtures__/test-deployments.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { createDeploymentDirectory } from './directory.ts';

const SCOPE = { region: 'cn-beijing', workspace: 'w' } as const;

/** A directory over a fake store, with manual changes and polls. */
function createTestDirectory() {
  let records: readonly DeploymentRecord[] = [];
  let changes = 0;
  let failure: Error | undefined;
  let poll: () => void = () => undefined;
  const reads = { counts: 0, lists: 0 };
  const errors: string[] = [];
  /** Set while reads are blocked. */
  let blocked: Promise<void> | undefined;
  const directory = createDeploymentDirectory({
    store: {
      deployments: {
        async countChanges() {
          reads.counts++;
          await blocked;
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
    startInterval(_ms, run) {
      poll = run;
      return () => (poll = () => undefined);
    },
  });
  return {
    directory,
    reads,
    errors,
    runPoll: () => poll(),
    fail: (error: Error | undefined) => (failure = error),
    block(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      blocked = promise;
      return () => {
        blocked = undefined;
        resolve();
      };
    },
    write(...next: DeploymentRecord[]) {
      records = next;
      changes++;
    },
  };
}

describe('deployment directory', () => {
  it('finds each deployment by scope and name', async () => {
    const { directory, write } = createTestDirectory();
    const other = { ...SCOPE, workspace: 'other' };
    const far = { ...SCOPE, region: 'us-east-1' } as const;
    write(
      createTestDeployment({ id: 'a' }),
      createTestDeployment({ id: 'b', name: 'second' }),
      createTestDeployment({ id: 'c', workspace: 'other' }),
      createTestDeployment({ id: 'd', region: 'us-east-1' }),
    );
    assert.equal(directory.find(SCOPE, 'm-ours'), undefined);
    await directory.refresh();
    const found = [SCOPE, other, far].map((place) => directory.find(place, 'm-ours')?.id);
    assert.deepEqual(found, ['a', 'c', 'd']);
    assert.deepEqual(
      directory.list(SCOPE).map(({ id }) => id),
      ['a', 'b'],
    );
    assert.deepEqual(directory.list({ ...other, region: 'us-east-1' }), []);
  });

  it('reads the records only after a change', async () => {
    const { directory, write, reads } = createTestDirectory();
    write(createTestDeployment());
    await directory.refresh();
    await directory.refresh();
    assert.deepEqual(reads, { counts: 2, lists: 1 });
    write();
    await directory.refresh();
    assert.equal(reads.lists, 2);
    assert.equal(directory.find(SCOPE, 'm-ours'), undefined);
  });

  it('reads changes made before a refresh, even while another read runs', async () => {
    const { directory, write, block, reads } = createTestDirectory();
    const unblock = block();
    const first = directory.refresh();
    write(createTestDeployment());
    const others = [directory.refresh(), directory.refresh()];
    unblock();
    await Promise.all([first, ...others]);
    assert.equal(directory.find(SCOPE, 'm-ours')?.id, 'dep_1');
    assert.equal(reads.counts, 2, 'calls during a read share the next one');
  });

  it('polls periodically, one read at a time', async () => {
    const { directory, write, runPoll, block, reads } = createTestDirectory();
    write(createTestDeployment());
    const unblock = block();
    runPoll();
    runPoll();
    unblock();
    await directory.close();
    assert.equal(reads.counts, 1);
    assert.equal(directory.find(SCOPE, 'm-ours')?.id, 'dep_1');
    runPoll();
    assert.equal(reads.counts, 1, 'no poll after close');
  });

  it('keeps the last snapshot while the store fails, and logs the failure once', async () => {
    const { directory, write, fail, errors } = createTestDirectory();
    write(createTestDeployment());
    await directory.refresh();
    fail(new Error('away'));
    write();
    await directory.refresh();
    await directory.refresh();
    assert.equal(directory.find(SCOPE, 'm-ours')?.id, 'dep_1');
    assert.equal(errors.length, 1);
    fail(undefined);
    await directory.refresh();
    assert.equal(directory.find(SCOPE, 'm-ours'), undefined);
    fail(new Error('away again'));
    await directory.refresh();
    assert.equal(errors.length, 2);
  });

  it('reports removed deployments, also when a new one takes the name', async () => {
    const { directory, write } = createTestDirectory();
    const removed: string[] = [];
    directory.onRemoved(({ id }) => void removed.push(id));
    write(createTestDeployment({ id: 'a' }), createTestDeployment({ id: 'b', name: 'second' }));
    await directory.refresh();
    write(createTestDeployment({ id: 'c' }), createTestDeployment({ id: 'b', name: 'second', capacity: 2 }));
    await directory.refresh();
    assert.deepEqual(removed, ['a']);
    assert.equal(directory.find(SCOPE, 'm-ours')?.id, 'c');
  });
});
