import { PAGE_NUMBER_MAX, PAGE_SIZE_MAX } from './limits.ts';
import { createCountField as createIntegerField } from '../fields/list-query.ts';
import type { RuleTexts } from '../parse.ts';

/** A page of a list. */
export interface PageRequest {
  readonly number: number;
  readonly size: number;
}

/** Fields of a query that asks for a page. */
export const createPageFields = (sizeMax: number, sizeDefault = 10) => ({
  page_no: createIntegerField(PAGE_NUMBER_MAX).default(1),
  page_size: createIntegerField(sizeMax).default(sizeDefault),
});

export const createPageTexts = (sizeMax: number): RuleTexts => ({
  page_no: `Range of page_no should be [1, ${PAGE_NUMBER_MAX}]`,
  page_size: `Range of page_size should be [1, ${sizeMax}]`,
});

export const PAGE_FIELDS = createPageFields(PAGE_SIZE_MAX);
export const PAGE_TEXTS = createPageTexts(PAGE_SIZE_MAX);

export const decodePage = (wire: { readonly page_no: number; readonly page_size: number }): PageRequest => ({
  number: wire.page_no,
  size: wire.page_size,
});

/** How many entries stand before the page. */
export const getPageOffset = ({ number, size }: PageRequest): number => (number - 1) * size;
