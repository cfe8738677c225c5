import type { Abilities } from '../../core/abilities.ts';
import type { EngineCapabilities, LoadedModel } from '../engine.ts';

type Capability<Name extends keyof EngineCapabilities> = EngineCapabilities[Name];

/** What all of them can do. @param all At least one, of the same input. */
export function weakestCapabilities(all: readonly EngineCapabilities[]): EngineCapabilities {
  const [first, ...others] = all;
  if (first === undefined) throw new RangeError('no capabilities');
  return others.reduce(weaker, first);
}

function weaker(one: EngineCapabilities, other: EngineCapabilities): EngineCapabilities {
  const unheard = new Set([...(one.unheardSampling ?? []), ...(other.unheardSampling ?? [])]);
  const forwards = one.forwards?.filter((field) => other.forwards?.includes(field)) ?? [];
  const thinking = weakestOf(THINKING, one.thinking, other.thinking);
  return {
    input: one.input,
    logprobs: weakestOf(LOGPROBS, one.logprobs, other.logprobs),
    grammar: one.grammar && other.grammar,
    phases: one.phases && other.phases,
    cache: one.cache && other.cache,
    choicesMax: Math.min(one.choicesMax, other.choicesMax),
    ...(unheard.size > 0 ? { unheardSampling: [...unheard] } : {}),
    ...(thinking === undefined ? {} : { thinking }),
    ...(forwards.length > 0 ? { forwards } : {}),
  };
}

/** Weakest first. */
const LOGPROBS: readonly Capability<'logprobs'>[] = [false, 'free', true];
const THINKING: readonly Capability<'thinking'>[] = [undefined, 'switch', 'budget'];
const THOUGHTS: readonly Abilities['thinking'][] = [false, 'prompted', 'native'];

function weakestOf<T>(order: readonly T[], one: T, other: T): T {
  return order.indexOf(one) <= order.indexOf(other) ? one : other;
}

/**
 * The first one's word on the model, as far as no other one's is less: what fits all of them, and what none denies. An
 * ability that one does not speak of is not denied.
 * @param all At least one.
 */
export function weakestModel(all: readonly LoadedModel[]): LoadedModel {
  const [first, ...others] = all;
  if (first === undefined) throw new RangeError('no models');
  return others.reduce((one, other) => {
    const abilities = weakerAbilities(one.abilities, other.abilities);
    return {
      ...one,
      contextTokens: Math.min(one.contextTokens, other.contextTokens),
      vocabularySize: Math.min(one.vocabularySize, other.vocabularySize),
      ...(abilities === undefined ? {} : { abilities }),
    };
  }, first);
}

function weakerAbilities(one: Abilities | undefined, other: Abilities | undefined): Abilities | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  const denied = Object.entries(other).filter(([, can]) => can === false);
  const thinking =
    one.thinking === undefined || other.thinking === undefined
      ? (one.thinking ?? other.thinking)
      : weakestOf(THOUGHTS, one.thinking, other.thinking);
  return { ...other, ...one, ...Object.fromEntries(denied), ...(thinking === undefined ? {} : { thinking }) };
}
