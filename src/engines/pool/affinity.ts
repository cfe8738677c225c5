import { hash } from 'node:crypto';
import { POOL_AFFINITY_CHARS_MAX } from './limits.ts';
import type { Message } from '../../core/message.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import type { EngineInput, EngineRequest } from '../engine.ts';

/**
 * Returns the affinity of a request: a 32-bit hash of its workspace and of the beginning of its prompt. All turns of one
 * conversation share it, so that a later turn goes to the server that has the earlier turns in its prefix cache.
 */
export const computeAffinity = ({ owner, input }: Pick<EngineRequest, 'owner' | 'input'>): number =>
  hash32(`${owner.workspace}\n${getPromptPrefix(input)}`);

/** Returns the 32-bit seed that stands for a server address in `computeRendezvousWeight`. */
export const hashAddress = (address: string): number => hash32(address);

/**
 * Returns the weight of an address for an affinity (rendezvous hashing): the address with the highest weight is
 * preferred. When an address is removed, only the conversations that preferred it move.
 */
export function computeRendezvousWeight(affinity: number, seed: number): number {
  let mixed = Math.imul(affinity ^ seed, 0x9e37_79b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85eb_ca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2_ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

const hash32 = (text: string): number => hash('sha1', text, 'buffer').readUInt32LE(0);

function getPromptPrefix(input: EngineInput): string {
  switch (input.type) {
    case 'messages':
      return getMessagesPrefix(input.messages);
    case 'segments':
      return getSegmentsPrefix(input.segments);
    case 'tokens':
      return input.tokens.slice(0, PREFIX_TOKENS_MAX).join(' ');
  }
}

/** Number of token ids that about equal `POOL_AFFINITY_CHARS_MAX` characters. */
const PREFIX_TOKENS_MAX = POOL_AFFINITY_CHARS_MAX / 4;

/** Returns the texts up to the end of the first user message: the rest differs from turn to turn. */
function getMessagesPrefix(messages: readonly Message[]): string {
  let text = '';
  for (const { role, content } of messages) {
    text += `\n${role}:`;
    for (const part of content) {
      text += (part.type === 'text' ? part.text : part.type === 'image' ? part.url : '').slice(
        0,
        POOL_AFFINITY_CHARS_MAX,
      );
      if (text.length >= POOL_AFFINITY_CHARS_MAX) return text.slice(0, POOL_AFFINITY_CHARS_MAX);
    }
    if (role === 'user') break;
  }
  return text;
}

/**
 * Returns the prompt text up to the first answer, which most templates mark with the name of the role. In a template
 * without such a mark, each turn of a conversation shorter than the limit gets a new affinity.
 */
function getSegmentsPrefix(segments: readonly PromptSegment[]): string {
  let text = '';
  for (const segment of segments) {
    if ((segment.special ? ASSISTANT_MARKER : ASSISTANT_LABEL).test(segment.text)) break;
    text += segment.text.slice(0, POOL_AFFINITY_CHARS_MAX);
    if (text.length >= POOL_AFFINITY_CHARS_MAX) break;
  }
  return text.slice(0, POOL_AFFINITY_CHARS_MAX);
}

const ASSISTANT_MARKER = /assistant|\/INST/i;
const ASSISTANT_LABEL = /^\s*(?:assistant|model)\b/i;
