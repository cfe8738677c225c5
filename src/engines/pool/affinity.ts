import { hash } from 'node:crypto';
import { POOL_AFFINITY_CHARACTERS_MAX } from '../../core/limits.ts';
import type { Message } from '../../core/message.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import type { EngineInput, EngineRequest } from '../engine.ts';

/**
 * A number that all requests of one workspace share whose conversations begin alike, 32 bits: a server has the beginning
 * of a later turn in its cache where it has seen the earlier one.
 */
export const affinityOf = ({ owner, input }: Pick<EngineRequest, 'owner' | 'input'>): number =>
  hashOf(`${owner.workspace}\n${beginningOf(input)}`);

/** The number of an address that affinities are weighed with, 32 bits. */
export const seedOf = (address: string): number => hashOf(address);

/** How much an address is preferred for an affinity: where one goes, only what was its own moves to others. */
export function preference(affinity: number, seed: number): number {
  let mixed = Math.imul(affinity ^ seed, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const hashOf = (text: string): number => hash('sha1', text, 'buffer').readUInt32LE(0);

function beginningOf(input: EngineInput): string {
  switch (input.type) {
    case 'messages':
      return beginningOfMessages(input.messages);
    case 'segments':
      return beginningOfSegments(input.segments);
    case 'tokens':
      return input.tokens.slice(0, TOKENS_MAX).join(' ');
  }
}

/** About as many as the characters of the others. */
const TOKENS_MAX = POOL_AFFINITY_CHARACTERS_MAX / 4;

/** Up to the first user's message: what comes behind it differs from turn to turn. */
function beginningOfMessages(messages: readonly Message[]): string {
  let text = '';
  for (const { role, content } of messages) {
    text += `\n${role}:`;
    for (const part of content) {
      text += (part.type === 'text' ? part.text : part.type === 'image' ? part.url : '').slice(
        0,
        POOL_AFFINITY_CHARACTERS_MAX,
      );
      if (text.length >= POOL_AFFINITY_CHARACTERS_MAX) return text.slice(0, POOL_AFFINITY_CHARACTERS_MAX);
    }
    if (role === 'user') break;
  }
  return text;
}

/**
 * Up to where the first answer begins, which most templates mark with a word for who speaks. Where it cannot be told, a
 * conversation that is shorter than the limit looks new with each turn.
 */
function beginningOfSegments(segments: readonly PromptSegment[]): string {
  let text = '';
  for (const segment of segments) {
    if ((segment.special ? ANSWER_MARK : ANSWER_NAME).test(segment.text)) break;
    text += segment.text.slice(0, POOL_AFFINITY_CHARACTERS_MAX);
    if (text.length >= POOL_AFFINITY_CHARACTERS_MAX) break;
  }
  return text.slice(0, POOL_AFFINITY_CHARACTERS_MAX);
}

const ANSWER_MARK = /assistant|\/INST/i;
const ANSWER_NAME = /^\s*(?:assistant|model)\b/i;
