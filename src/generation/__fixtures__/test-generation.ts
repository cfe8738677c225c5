import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import type { Priority, RequestContext } from '../../core/context.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import { ServiceError } from '../../core/error.ts';
import type { Usage } from '../../core/event.ts';
import type { GenerationRequest } from '../../core/request.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createSchemaCheck } from '../../grammar/schema-check.ts';
import type { Permit } from '../admission.ts';
import type { OpenRequestImages } from '../fetch-images.ts';
import { createGenerate } from '../generate.ts';
import type { WithEngineDeps } from '../with-engine.ts';

export const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'template' },
  contextTokens: 100,
  abilities: { tools: false, vision: false, audio: false, logprobs: true, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: { temperature: 0.5 },
  created: 0,
};

const createFakeCatalogue = (entry: ModelEntry, record: DeploymentRecord | undefined): Pick<Catalogue, 'resolve'> => ({
  async resolve(name) {
    if (name !== 'm') throw new ServiceError('model-not-found', 'no such model');
    if (!record) return { requestedName: name, entry };
    return { requestedName: name, entry: { ...entry, name: record.name }, deployment: { record, base: entry } };
  },
});

export const REQUEST: GenerationRequest = {
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
  sampling: {},
  stop: { strings: [], tokens: [] },
  choices: 1,
};

interface SettledUsage {
  readonly usage: Usage;
  readonly outcome: string;
}

/** Creates dependencies that record permits, leases and usage, and the context of a test request. */
export function createTestDeps<Engine>(
  engine: Engine,
  {
    reserve,
    entry = ENTRY,
    priority,
    deployed,
    permit,
  }: {
    readonly reserve?: () => Promise<never>;
    readonly entry?: ModelEntry;
    readonly priority?: Priority;
    /** The deployment that the model `m` is. */
    readonly deployed?: DeploymentRecord;
    /** Further properties of the permit. */
    readonly permit?: Partial<Permit>;
  } = {},
) {
  const records = {
    permits: 0,
    releases: 0,
    leases: 0,
    leasesReleased: 0,
    imagesFetched: 0,
    imagesReleased: 0,
    settled: [] as SettledUsage[],
    logFields: {} as Record<string, unknown>,
  };
  const caller = new AbortController();
  const context: RequestContext = {
    requestId: 'r',
    owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
    ...(priority ? { priority } : {}),
    signal: caller.signal,
    log: { add: (fields) => void Object.assign(records.logFields, fields), warn: () => undefined },
  };
  const deps: WithEngineDeps<Engine> = {
    catalogue: createFakeCatalogue(entry, deployed),
    acquireEngine: async () => {
      records.leases++;
      return { engine, release: () => void records.leasesReleased++ };
    },
    admission: {
      admit: async () => {
        records.permits++;
        return { ...permit, release: () => void records.releases++ };
      },
    },
    ledger: { reserve: reserve ?? (async () => ({ settle: (usage, how) => void records.settled.push({ usage, outcome: how }) })) },
  };
  return { records, caller, context, deps };
}

/** Creates a generation with recording dependencies. */
export function createTestGeneration(
  engine: TextEngine,
  options: Parameters<typeof createTestDeps>[1] & { readonly openImages?: OpenRequestImages } = {},
) {
  const { records, caller, context, deps } = createTestDeps(engine, options);
  const generate = createGenerate({
    ...deps,
    getModelStyle: () => ({ stopTokens: [] }),
    ids: { createToolCallId: () => 'call_1' },
    answerChecker: { findProblem: async (schema, text) => createSchemaCheck(schema)(JSON.parse(text)) },
    openImages: options.openImages ?? (() => ({
      async inline(messages) {
        records.imagesFetched++;
        return messages;
      },
      release: () => void records.imagesReleased++,
    })),
  });
  return {
    records,
    caller,
    context,
    /** Dependencies of functions that use the generation. */
    deps: { generate, catalogue: deps.catalogue, acquireEngine: deps.acquireEngine },
    generate: (request: Partial<GenerationRequest> = {}) =>
      generate({ ...REQUEST, ...request }, { interface: 'chat' }, context),
  };
}
