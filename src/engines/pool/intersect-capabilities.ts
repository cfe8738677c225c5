import type { Abilities } from '../../core/abilities.ts';
import type { EngineCapabilities, LoadedModel } from '../engine.ts';

type Capability<Name extends keyof EngineCapabilities> = EngineCapabilities[Name];

/** Returns what all members can do. @param all At least one, all with the same `input`. */
export function intersectCapabilities(all: readonly EngineCapabilities[]): EngineCapabilities {
  const [first, ...others] = all;
  if (first === undefined) throw new RangeError('no capabilities');
  return others.reduce(intersectTwo, first);
}

function intersectTwo(one: EngineCapabilities, other: EngineCapabilities): EngineCapabilities {
  const unsupported = new Set([...(one.ignoredSampling ?? []), ...(other.ignoredSampling ?? [])]);
  const forwards = one.forwardableFields?.filter((field) => other.forwardableFields?.includes(field)) ?? [];
  const thinking = pickWeaker(THINKING_ORDER, one.thinking, other.thinking);
  return {
    input: one.input,
    logprobs: pickWeaker(LOGPROBS_ORDER, one.logprobs, other.logprobs),
    grammar: one.grammar && other.grammar,
    phases: one.phases && other.phases,
    cache: one.cache && other.cache,
    choicesMax: Math.min(one.choicesMax, other.choicesMax),
    ...(unsupported.size > 0 ? { ignoredSampling: [...unsupported] } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(forwards.length > 0 ? { forwardableFields: forwards } : {}),
  };
}

/** Orders of values, weakest first. */
const LOGPROBS_ORDER: readonly Capability<'logprobs'>[] = [false, 'free', true];
const THINKING_ORDER: readonly Capability<'thinking'>[] = [undefined, 'switch', 'budget'];
const ABILITY_THINKING_ORDER: readonly Abilities['thinking'][] = [false, 'prompted', 'native'];

function pickWeaker<T>(order: readonly T[], one: T, other: T): T {
  return order.indexOf(one) <= order.indexOf(other) ? one : other;
}

/**
 * Merges the models of all members: the first one's, restricted to the smallest context and to the abilities that no
 * member denies. A member that does not mention an ability does not deny it.
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
