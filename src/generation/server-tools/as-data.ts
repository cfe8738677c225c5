import { ANY_MARK } from '../citations/marks.ts';
import { TOOL_FORMATS } from '../tools/formats.ts';

/**
 * A text from elsewhere as a prompt may hold it: no mark of any call format, chat template, fence or citation is left in it, nor
 * a character that nobody sees. What a model repeats of it word by word is no call either.
 */
export const asData = (text: string): string => withoutCalls(withoutReferences(text.replaceAll(UNSEEN, '')));

/** The same of what a program says, in which brackets around numbers are lists: these stay. */
export const asOutput = (text: string): string => withoutCalls(text.replaceAll(UNSEEN, ''));

function withoutCalls(text: string): string {
  let told = text;
  for (const mark of MARKS) told = told.replaceAll(mark, broken);
  return told
    .replaceAll(/`{3,}|~{3,}/g, "'''")
    .replaceAll(/<(?=\s*[|｜])/g, '‹')
    .replaceAll(/(?<=[|｜]\s*)>/g, '›')
    .replaceAll(TAG, '‹')
    .replaceAll(BRACKET, '［')
    .replaceAll(CALL_KEY, '“$1”$2');
}

/**
 * Single numbers go, first of all and again: what stood around one may be a mark together. Where that has no end the rest is no
 * mark for its bracket. Of several, which may be a list as well, only the bracket changes.
 */
function withoutReferences(text: string): string {
  let told = text;
  for (let time = 0; time < 3; time++) told = told.replaceAll(REFERENCE, '');
  return told.replaceAll(REFERENCE, widened).replaceAll(ANY_MARK, widened);
}

const widened = (mark: string): string => `［${mark.slice(1)}`;

const REFERENCE = /[[【]\s*(?:\^|ref[_ ]?)?\d{1,3}\s*[\]】]/gi;

/** The same in one line. */
export const asDataLine = (text: string): string => asData(text).replaceAll(/\s+/g, ' ').trim();

/**
 * Controls but line ends and tabs, and what Unicode says that nobody sees: marks of writing direction, blanks without width,
 * fillers, tags that hide text. What joins letters of other writing, and emoji, stays there.
 */
const UNSEEN =
  /(?![\n\t\u200C\u200D])[\p{Cc}\p{Default_Ignorable_Code_Point}]|(?<=[\0-\x7f])[\u200C\u200D]+|[\u200C\u200D]+(?=[\0-\x7f])/gu;

const MARKS = [
  ...new Set(
    Object.values(TOOL_FORMATS).flatMap(({ openings, closings, markers }) => [...openings, ...closings, ...markers]),
  ),
].map((mark) => new RegExp(RegExp.escape(mark), 'gi'));

/** A blank behind its first character makes text of it. */
const broken = (mark: string): string => `${mark.slice(0, 1)} ${mark.slice(1)}`;

/** Names that templates, call formats and our own prompts give to tags; to a model a wide bracket is one as well. */
const TAG =
  /[<\uFE64\uFF1C](?=\s*(?:\/\s*)?(?:tool|function|arg|parameter|invoke|antml|think|search|result|source|document|program|output|im_|s>|system|user|assistant|human|end_of|start_of|bos|eos))/gi;

const BRACKET = /\[(?=\s*(?:\/\s*)?(?:TOOL|ARGS|INST|SYS|AVAILABLE))/gi;

/** What a call that is one JSON object is told by. */
const CALL_KEY = /"(name|type|function|tool|arguments|parameters|tool_calls)"(\s*:)/gi;
