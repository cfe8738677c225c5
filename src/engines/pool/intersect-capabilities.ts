import type { Abilities } from '../../core/abilities.ts';
import type { EngineCapabilities, LoadedModel } from '../engine.ts';

type Capability<Name extends keyof EngineCapabilities> = EngineCapabilities[Name];

/** Returns what all engines of a pool can do. @param all At least one, all with the same `input`. */
export function intersectCapabilities(all: readonly EngineCapabilities[]): EngineCapabilities {
  const [first, ...others] = all;
  if (first === undefined) throw new RangeError('no capabilities');
  return others.reduce(intersectTwo, first);
}

function intersectTwo(one: EngineCapabilities, other: EngineCapabilities): EngineCapabilities {
  const ignoredSampling = new Set([...(one.ignoredSampling ?? []), ...(other.ignoredSampling ?? [])]);
  const forwardableFields = one.forwardableFields?.filter((field) => other.forwardableFields?.includes(field)) ?? [];
  const thinking = pickWeaker(THINKING_ORDER, one.thinking, other.thinking);
  return {
    input: one.input,
    logprobs: pickWeaker(LOGPROBS_ORDER, one.logprobs, other.logprobs),
    promptLogprobs: one.promptLogprobs && other.promptLogprobs,
    grammar: one.grammar && other.grammar,
    phases: one.phases && other.phases,
    cache: one.cache && other.cache,
    choicesMax: Math.min(one.choicesMax, other.choicesMax),
    ...(ignoredSampling.size > 0 ? { ignoredSampling: [...ignoredSampling] } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(forwardableFields.length > 0 ? { forwardableFields } : {}),
  };
}

/** Orders of values, weakest first; `EngineCapabilities` and `Abilities` define them. */
const LOGPROBS_ORDER: readonly Capability<'logprobs'>[] = [false, 'greedy', 'free', true];
const THINKING_ORDER: readonly Capability<'thinking'>[] = [undefined, 'switch', 'budget'];
const ABILITY_THINKING_ORDER: readonly Abilities['thinking'][] = [false, 'prompted', 'native'];

function pickWeaker<T>(order: readonly T[], one: T, other: T): T {
  return order.indexOf(one) <= order.indexOf(other) ? one : other;
}

/**
 * Merges the models of all engines of a pool: the first one's, restricted to the smallest context and to the abilities
 * that no engine denies. An engine that does not mention an ability does not deny it.
 * @param all At least one.
 */
export function mergeModels(all: readonly LoadedModel[]): LoadedModel {
  const [first, ...others] = all;
  if (first === undefined) throw new RangeError('no models');
  return others.reduce((one, other) => {
    const abilities = mergeAbilities(one.abilities, other.abilities);
    return {
      ...one,
      contextTokens: Math.min(one.contextTokens, other.contextTokens),
      vocabularySize: Math.min(one.vocabularySize, other.vocabularySize),
      ...(abilities === undefined ? {} : { abilities }),
    };
  }, first);
}

function mergeAbilities(one: Abilities | undefined, other: Abilities | undefined): Abilities | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const denied = Object.entries(other).filter(([, can]) => can === false);
  const thinking =
    one.thinking === undefined || other.thinking === undefined
      ? (one.thinking ?? other.thinking)
      : pickWeaker(ABILITY_THINKING_ORDER, one.thinking, other.thinking);
  return { ...other, ...one, ...Object.fromEntries(denied), ...(thinking === undefined ? {} : { thinking }) };
}
