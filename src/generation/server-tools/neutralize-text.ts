import { ANY_MARK } from '../citations/citation-marks.ts';
import { TOOL_FORMATS } from '../tools/tool-formats.ts';

/**
 * Neutralizes text from searches and pages for a prompt: removes or breaks marks of call formats, chat templates,
 * fences and citations, and removes invisible characters. A model that repeats the text verbatim calls nothing.
 */
export const neutralizeText = (text: string): string =>
  removeCallMarkup(removeCitationMarks(text.replaceAll(INVISIBLE, '')));

/** Neutralizes program output. Keeps numbers in brackets, which are lists there. */
export const neutralizeProgramOutput = (text: string): string => removeCallMarkup(text.replaceAll(INVISIBLE, ''));

function removeCallMarkup(text: string): string {
  let cleaned = text;
  for (const mark of MARKS) cleaned = cleaned.replaceAll(mark, breakMark);
  return cleaned
    .replaceAll(/`{3,}|~{3,}/g, "'''")
    .replaceAll(/<(?=\s*[|｜])/g, '‹')
    .replaceAll(/(?<=[|｜]\s*)>/g, '›')
    .replaceAll(TAG_START, '‹')
    .replaceAll(BRACKET_TAG_START, '［')
    .replaceAll(CALL_KEY, '“$1”$2');
}

/**
 * Removes single citation numbers, repeatedly because a removal can join a new mark. After three passes, and for marks
 * with several numbers, which may be lists, only the opening bracket is replaced.
 */
function removeCitationMarks(text: string): string {
  let cleaned = text;
  for (let time = 0; time < 3; time++) cleaned = cleaned.replaceAll(CITATION_MARK, '');
  return cleaned.replaceAll(CITATION_MARK, widenBracket).replaceAll(ANY_MARK, widenBracket);
}

const widenBracket = (mark: string): string => `［${mark.slice(1)}`;

const CITATION_MARK = /[[【]\s*(?:\^|ref[_ ]?)?\d{1,3}\s*[\]】]/gi;

/** Neutralizes a text and joins it to one line. */
export const neutralizeLine = (text: string): string => neutralizeText(text).replaceAll(/\s+/g, ' ').trim();

/**
 * Control characters except line breaks and tabs, and characters that Unicode defines as invisible: directional marks,
 * zero-width spaces, fillers, tags. Joiners stay between non-ASCII characters, where scripts and emoji need them.
 */
const INVISIBLE =
  /(?![\n\t\u200C\u200D])[\p{Cc}\p{Default_Ignorable_Code_Point}]|(?<=[\0-\x7f])[\u200C\u200D]+|[\u200C\u200D]+(?=[\0-\x7f])/gu;

const MARKS = [
  ...new Set(
    Object.values(TOOL_FORMATS).flatMap(({ openings, closings, markers }) => [...openings, ...closings, ...markers]),
  ),
].map((mark) => new RegExp(RegExp.escape(mark), 'gi'));

/** A space after the first character makes the mark plain text. */
const breakMark = (mark: string): string => `${mark.slice(0, 1)} ${mark.slice(1)}`;

/**
 * Tag names of chat templates, call formats and Parley's prompts. A full-width bracket also starts a tag for a model.
 */
const TAG_START =
  /[<\uFE64\uFF1C](?=\s*(?:\/\s*)?(?:tool|function|arg|parameter|invoke|antml|think|search|result|source|document|program|output|im_|s>|system|user|assistant|human|end_of|start_of|bos|eos))/gi;

const BRACKET_TAG_START = /\[(?=\s*(?:\/\s*)?(?:TOOL|ARGS|INST|SYS|AVAILABLE))/gi;

/** Keys of a call that is one JSON object. */
const CALL_KEY = /"(name|type|function|tool|arguments|parameters|tool_calls)"(\s*:)/gi;
