/** Arguments of a call, a filter or a test. */
export interface CallArguments {
  readonly positional: readonly Expression[];
  readonly keyword: readonly (readonly [name: string, value: Expression])[];
  /** `*args` and `**kwargs`. */
  readonly spread: Expression | undefined;
  readonly keywordSpread: Expression | undefined;
}

export type BinaryOperator = '+' | '-' | '*' | '/' | '//' | '%' | '**';
export type CompareOperator = '==' | '!=' | '<' | '<=' | '>' | '>=' | 'in' | 'not in';

export type Expression =
  | { readonly type: 'constant'; readonly value: string | boolean | null }
  | { readonly type: 'integer' | 'float'; readonly value: number }
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'list' | 'tuple'; readonly items: readonly Expression[] }
  | { readonly type: 'dict'; readonly items: readonly (readonly [key: Expression, value: Expression])[] }
  | {
      readonly type: 'condition';
      readonly test: Expression;
      readonly value: Expression;
      readonly otherwise: Expression | undefined;
    }
  | { readonly type: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly type: 'not' | 'negative' | 'positive'; readonly value: Expression }
  | {
      readonly type: 'compare';
      readonly first: Expression;
      readonly others: readonly (readonly [operator: CompareOperator, value: Expression])[];
    }
  | {
      readonly type: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | { readonly type: 'concat'; readonly items: readonly Expression[] }
  | { readonly type: 'attribute'; readonly object: Expression; readonly name: string }
  | { readonly type: 'item'; readonly object: Expression; readonly key: Expression }
  | { readonly type: 'slice'; readonly parts: readonly (Expression | undefined)[] }
  | { readonly type: 'call'; readonly callee: Expression; readonly args: CallArguments }
  | {
      readonly type: 'filter';
      readonly name: string;
      /** Absent in the filter of a `filter` or `set` block: the block's text. */
      readonly value: Expression | undefined;
      readonly args: CallArguments;
    }
  | { readonly type: 'test'; readonly name: string; readonly value: Expression; readonly args: CallArguments };

/** The left side of an assignment. */
export type Target =
  | { readonly type: 'name'; readonly name: string }
  | { readonly type: 'member'; readonly namespace: string; readonly name: string }
  | { readonly type: 'tuple'; readonly items: readonly Target[] };

/** Parameters of a macro or a `call` block; a default is absent or an expression of the macro's scope. */
export type Signature = readonly { readonly name: string; readonly fallback: Expression | undefined }[];

export type Statement =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'output'; readonly value: Expression }
  | {
      readonly type: 'if';
      readonly branches: readonly { readonly test: Expression; readonly body: Body }[];
      readonly otherwise: Body;
    }
  | ForStatement
  | { readonly type: 'break' | 'continue' }
  | { readonly type: 'set'; readonly target: Target; readonly value: Expression }
  | {
      readonly type: 'set-block';
      readonly target: Target;
      readonly filter: Expression | undefined;
      readonly body: Body;
    }
  | { readonly type: 'macro'; readonly name: string; readonly signature: Signature; readonly body: Body }
  | {
      readonly type: 'call-block';
      readonly signature: Signature;
      readonly call: Expression & { readonly type: 'call' };
      readonly body: Body;
    }
  | { readonly type: 'filter-block'; readonly filter: Expression; readonly body: Body }
  | {
      readonly type: 'with';
      readonly assignments: readonly (readonly [target: Target, value: Expression])[];
      readonly body: Body;
    }
  /** A tag that only has a scope: `generation`. */
  | { readonly type: 'scope'; readonly body: Body };

export interface ForStatement {
  readonly type: 'for';
  readonly target: Target;
  readonly iterable: Expression;
  readonly filter: Expression | undefined;
  readonly isRecursive: boolean;
  readonly body: Body;
  readonly otherwise: Body;
}

export type Body = readonly Statement[];
