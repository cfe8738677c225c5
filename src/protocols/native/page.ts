import { PAGE_NUMBER_MAX, PAGE_SIZE_MAX } from '../../core/limits.ts';
import { countField as whole } from '../fields/list-query.ts';
import type { RuleTexts } from '../parse.ts';

/** Which part of a list is wanted; pages count from 1. */
export interface Page {
  readonly number: number;
  readonly size: number;
}

/** Fields of a query that asks for a page. */
export const pageFields = (sizeMax: number, sizeDefault = 10) => ({
  page_no: whole(PAGE_NUMBER_MAX).default(1),
  page_size: whole(sizeMax).default(sizeDefault),
});

export const pageTextsOf = (sizeMax: number): RuleTexts => ({
  page_no: `Range of page_no should be [1, ${PAGE_NUMBER_MAX}]`,
  page_size: `Range of page_size should be [1, ${sizeMax}]`,
});

export const pageQuery = pageFields(PAGE_SIZE_MAX);
export const pageTexts = pageTextsOf(PAGE_SIZE_MAX);

export const pageOf = (wire: { readonly page_no: number; readonly page_size: number }): Page => ({
  number: wire.page_no,
  size: wire.page_size,
});

/** How many entries stand before the page. */
export const skippedBy = ({ number, size }: Page): number => (number - 1) * size;

/** A query as an object; a field without a value is one that was not set. */
export const fieldsOf = (query: URLSearchParams): Readonly<Record<string, string>> =>
  Object.fromEntries([...query].filter(([, value]) => value !== ''));
