import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { EngineOwner } from '../engines/engine.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import type { Admission } from './admission.ts';
import { toEngineOwner } from './engine-owner.ts';
import type { Ledger, UsageReservation } from './ledger.ts';
import { getModelLogFields } from './model-log-fields.ts';
import { resolveTarget, type ModelTarget } from './model-target.ts';

export interface WithEngineDeps<Engine> {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  /** Returns the engine of a model, loading it if necessary; it is held until the work is done. */
  readonly acquireEngine: (model: ResolvedModel) => Promise<{ readonly engine: Engine; release(): void }>;
  readonly admission: Admission;
  readonly ledger: Ledger;
}

/** The result of the work and the tokens it consumed. */
interface WorkOutput<Result> {
  readonly promptTokens: number;
  readonly result: Result;
}

/**
 * Runs work that returns one result and generates no text, with the same admission, lease and usage records as a
 * generation.
 * @throws ServiceError as the catalogue, the admission, the engine or the work does.
 */
export async function withEngine<Engine, Result>(
  { catalogue, acquireEngine, admission, ledger }: WithEngineDeps<Engine>,
  { model: name, on }: { readonly model: string; readonly on: ModelTarget },
  context: RequestContext,
  work: (engine: Engine, owner: EngineOwner) => Promise<WorkOutput<Result>>,
): Promise<Result> {
  const { requestId, owner, signal, log } = context;
  const model = await resolveTarget(catalogue, name, on, owner);
  log.add(getModelLogFields(model));
  const runInfo = { requestId, owner, model: model.entry.name, choices: 1 };
  const permit = await admission.admit({
    ...runInfo,
    ...omitNullish({ priority: context.priority, deployment: model.deployment?.record }),
  });
  const { priority = context.priority } = permit;
  let lease: { readonly engine: Engine; release(): void } | undefined;
  let reservation: UsageReservation | undefined;
  let output: WorkOutput<Result> | undefined;
  try {
    lease = await acquireEngine(model);
    reservation = await ledger.reserve(runInfo);
    // The prompt's length is known only after the work.
    await permit.usageMeter?.start({ promptTokens: undefined, thinks: false });
    output = await work(lease.engine, toEngineOwner({ owner, ...omitNullish({ priority }) }));
    log.add({ promptTokens: output.promptTokens });
    return output.result;
  } finally {
    const outcome = output ? 'finished' : signal.aborted ? 'cancelled' : 'failed';
    const usage = { promptTokens: output?.promptTokens ?? 0, cachedTokens: 0, completionTokens: 0 };
    permit.release(usage, outcome);
    lease?.release();
    reservation?.settle(usage, outcome);
  }
}
