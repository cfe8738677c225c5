import { assert } from '../../lib/assert.ts';
import type { EngineEvent, TokenLogprob } from '../../core/event.ts';
import type { Phase } from '../../core/prompt.ts';
import type { Sampling } from '../../core/request.ts';
import { createChoiceOutput } from '../choice-output.ts';
import type { ChoiceOutput, Finished, PhaseEnd, Verdict } from '../choice-output.ts';
import type { EngineRequest } from '../engine.ts';
import type { Triggers } from '../triggers.ts';
import type { RunningCall } from './begin-call.ts';
import type { Heard, HeardTokens, PhaseCall } from './dialect.ts';
import type { PromptTokens } from './prompt-tokens.ts';
import type { PromptPiece } from './token-server.ts';

/** What the choices of one request share. */
export interface RunNeeds {
  readonly request: EngineRequest;
  readonly prompt: readonly number[];
  readonly contextTokens: number;
  readonly triggers: Triggers;
  /** Of each phase that has one. */
  readonly gbnf: ReadonlyMap<number, string>;
  readonly endTokens: readonly number[];
  readonly markers: ReadonlyMap<number, string>;
  readonly tokens: PromptTokens;
  /** Aborts when the request is over, in whatever way. */
  readonly signal: AbortSignal;
  begin(call: PhaseCall): Promise<RunningCall>;
}

/** One answer, a call of the server for each of its phases. */
export interface ChoiceRun {
  /** The first call, which nothing has been read of yet. */
  begin(): Promise<RunningCall>;
  /** Ends after the choice's end; leaving early ends the call that runs. */
  events(first: RunningCall): AsyncGenerator<readonly EngineEvent[], void>;
  readonly output: Pick<ChoiceOutput<unknown>, 'tokens' | 'thoughtTokens'>;
  /** Of the prompt, as far as the server told. */
  readonly cachedTokens: number;
}

const ONE_ANSWER: Phase = { kind: 'answer' };
const MORE: Verdict = { type: 'more' };

/** Between the seeds of a choice's phases: a server begins each call's random numbers anew. */
const PHASE_SEED_STEP = 0x9e3779b1;

/**
 * The phases are decided on here, as in the embedded engine: the server only goes on with tokens. Where a phase leads
 * into another, the call is closed and the next one begins with the tokens so far, which the server's cache still holds.
 */
export function createChoiceRun(index: number, needs: RunNeeds): ChoiceRun {
  const { request, contextTokens } = needs;
  const said: EngineEvent[] = [];
  const output = createChoiceOutput<readonly TokenLogprob[]>(request, {
    triggers: needs.triggers,
    say({ phase, text, tokens, logprobs }) {
      const told = logprobs?.flat() ?? [];
      said.push({
        type: 'text',
        choice: index,
        text,
        tokens,
        phase,
        ...(told.length > 0 ? { logprobs: told } : {}),
      });
    },
  });
  let context = needs.prompt;
  let calls = 0;
  let cachedTokens = 0;
  /** What the server told in this phase; what it told together stays together. */
  let heard: HeardTokens[] = [];
  let heardTokens = 0;
  let asked = 0;

  const samplingOf = (): Sampling => {
    const { seed } = request.sampling;
    if (seed === undefined) return request.sampling;
    return { ...request.sampling, seed: (seed + index + calls * PHASE_SEED_STEP) >>> 0 };
  };

  const tokensLeft = ({ kind, until }: Phase): number => {
    const ofAll = (request.maxTotalTokens ?? Infinity) - output.tokens;
    const ofAnswer =
      kind === 'thought' ? Infinity : (request.maxTokens ?? Infinity) - output.tokens + output.thoughtTokens;
    return Math.max(1, Math.min(contextTokens - context.length, until?.tokens ?? Infinity, ofAll, ofAnswer));
  };

  const begin = async (): Promise<RunningCall> => {
    const phase = request.phases[output.phase] ?? ONE_ANSWER;
    const gbnf = needs.gbnf.get(output.phase);
    asked = tokensLeft(phase);
    const call: PhaseCall = {
      prompt: context,
      tokensMax: asked,
      sampling: samplingOf(),
      ...(gbnf === undefined ? {} : { gbnf }),
      ...(request.logprobs && phase.kind === 'answer' ? { logprobs: request.logprobs } : {}),
      endTokens: needs.endTokens,
      markers: needs.markers,
    };
    heard = [];
    heardTokens = 0;
    calls++;
    return await needs.begin(call);
  };

  const hear = (event: Heard): Verdict => {
    if (event.type === 'tokens') {
      heard.push(event);
      heardTokens += event.count;
      return output.push({
        id: event.lastId,
        tokens: event.count,
        bytes: encoder.encode(event.text),
        isEnd: false,
        ...(event.logprobs.length > 0 ? { logprobs: event.logprobs } : {}),
      });
    }
    // No limit of ours is reached, or it would have been heard before: the context is full.
    if (event.reason === 'length') return output.cut();
    return output.push({ id: -1, bytes: NO_BYTES, isEnd: true });
  };

  /** Reads a call up to where its phase ends, and to its own end where that is at hand: the connection can then be kept. */
  async function* listen(call: RunningCall): AsyncGenerator<readonly EngineEvent[], Verdict> {
    let verdict = MORE;
    for await (const batch of call.batches) {
      const wasOver = verdict.type !== 'more';
      for (const event of batch) {
        if (event.type === 'ended' && calls === 1) cachedTokens = event.cachedTokens ?? cachedTokens;
        if (verdict.type === 'more') verdict = hear(event);
      }
      const isOver = verdict.type !== 'more';
      const endsItself = batch.at(-1)?.type === 'ended' || (!wasOver && heardTokens >= asked);
      if (isOver && !endsItself) call.cancel();
      if (verdict.type === 'finished' && !wasOver) finish(verdict);
      if (said.length > 0) yield said.splice(0);
      if (isOver && !endsItself) break;
    }
    return verdict;
  }

  /** What of the phase stays in the context, and what comes behind it. */
  const contextAfter = async ({ keepTokens, keepText, append }: PhaseEnd): Promise<readonly number[]> => {
    const kept = heard
      .slice(0, keepTokens)
      .map(({ ids, text }): PromptPiece => (ids ? { type: 'tokens', tokens: ids } : { type: 'text', text }));
    const behind = await needs.tokens.ofSegments([{ text: keepText, special: false }, ...append], needs.signal);
    return [...context, ...(await needs.tokens.ofPieces(kept, needs.signal)), ...behind];
  };

  const finish = ({ reason, stop }: Omit<Finished, 'type'>): void =>
    void said.push({ type: 'choice-end', choice: index, reason, ...(stop === undefined ? {} : { stop }) });

  async function* events(first: RunningCall): AsyncGenerator<readonly EngineEvent[], void> {
    let call = first;
    cachedTokens = call.taken.cachedTokens ?? 0;
    try {
      for (;;) {
        const verdict = yield* listen(call);
        if (verdict.type === 'finished') return;
        assert(verdict.type === 'phase-end', 'a call that ends without a failure has said why');
        context = await contextAfter(verdict);
        if (context.length >= contextTokens) {
          finish({ reason: 'length' });
          return yield said.splice(0);
        }
        call = await begin();
      }
    } finally {
      call.cancel();
    }
  }

  return {
    begin,
    events,
    output,
    get cachedTokens() {
      return cachedTokens;
    },
  };
}

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array();
