import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import { ServiceError } from '../../core/error.ts';
import { createTestDeployments, createDraft, OWNER } from './__fixtures__/test-deployments.ts';
import { findNextStatus } from './states.ts';

const PTU = { inputTpm: 5, outputTpm: 5, thinkingOutputTpm: 5 };

const suffix = fc.constantFrom('a', 'b');
const capacity = fc.integer({ min: 0, max: 3 });
/** Offset to the current generation: steps may be late or early. */
const late = fc.constantFrom(0, 0, 0, 0, -1, 1);
const ready = fc.integer({ min: 0, max: 3 });

const action = fc.oneof(
  fc.record({ type: fc.constant('create' as const), suffix, isPtu: fc.boolean(), capacity }),
  fc.record({ type: fc.constant('scale' as const), suffix, capacity }),
  fc.record({ type: fc.constantFrom('throttle' as const, 'delete' as const), suffix }),
  fc.record({
    type: fc.constantFrom(
      'start' as const,
      'reportReady' as const,
      'reportReached' as const,
      'fail' as const,
      'finishDeletion' as const,
    ),
    suffix,
    late,
    ready,
  }),
);

type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

test('follows the state table and keeps names unique for random actions of owners and the reconciler', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(action, { minLength: 1, maxLength: 3 }), { maxLength: 25 }), async (rounds) => {
      const store = await openTestStore();
      try {
        const testDeployments = createTestDeployments(store);
        const { deployments, lifecycle } = testDeployments;
        const take = async (each: Action): Promise<unknown> => {
          const name = `svc-plus-${each.suffix}`;
          switch (each.type) {
            case 'create': {
              const spec = { suffix: each.suffix };
              const wanted = each.isPtu
                ? ({ plan: 'ptu', capacity: undefined, ptu: PTU } as const)
                : { capacity: each.capacity };
              return await deployments.create(OWNER, createDraft({ spec, ...wanted }));
            }
            case 'scale': {
              const { plan } = await deployments.find(OWNER, name);
              return await deployments.scale(OWNER, name, plan === 'ptu' ? { ptu: PTU } : { capacity: each.capacity });
            }
            case 'throttle':
              return await deployments.throttle(OWNER, name, { rpmLimit: 1 });
            case 'delete':
              return await deployments.delete(OWNER, name);
            default: {
              const { id, generation, capacity: wanted } = await deployments.find(OWNER, name);
              const input = { generation: generation + each.late, reason: each.type === 'fail' ? 'why' : '' };
              const readyCapacity = Math.min(each.ready, wanted);
              return await lifecycle[each.type](id, { ...input, readyCapacity });
            }
          }
        };
        for (const round of rounds) {
          // Concurrent actions may run in any order.
          const results = await Promise.allSettled(round.map(take));
          for (const result of results) {
            if (result.status === 'fulfilled') continue;
            assert.ok(result.reason instanceof ServiceError, String(result.reason));
            assert.ok(['not-found', 'conflict', 'invalid-request'].includes(result.reason.kind), result.reason.kind);
          }
          const all = await store.deployments.listAll();
          assert.equal(new Set(all.map(({ name }) => name)).size, all.length);
          for (const record of all) {
            const events = await deployments.events(OWNER, record.name);
            const [first, ...rest] = events;
            assert.deepEqual([first?.transition, first?.to], ['create', 'pending']);
            let before = first ?? assert.fail();
            for (const event of rest) {
              assert.equal(event.from, before.to);
              assert.notEqual(event.reason, '');
              assert.notEqual(event.transition, 'create');
              if (event.transition !== 'create') assert.equal(event.to, findNextStatus(before.to, event.transition));
              const isOwners = event.transition === 'scale' || event.transition === 'delete';
              assert.equal(event.generation, before.generation + (isOwners ? 1 : 0));
              before = event;
            }
            assert.equal(record.status, before.to);
            assert.equal(record.generation, before.generation);
            assert.ok(record.appliedGeneration <= record.generation);
            // A change that is not carried out yet has a waiting job.
            const job = await store.jobs.findBySubject('deployment', record.id);
            assert.equal(job?.state, 'waiting');
          }
        }
      } finally {
        await store.close();
      }
    }),
    { numRuns: scalePropertyRuns(60) },
  );
});
