import type { AmountRange } from '../../runs/search/amounts.ts';
import { Choice, Field } from '../parts/fields.tsx';

interface MoneyFieldsProps {
  /** Of which one is chosen; those of all runs are typed. */
  readonly currencies?: readonly string[];
  readonly wanted: AmountRange & { readonly currency: string };
}

/** By which money a list is narrowed down. */
export function MoneyFields({ currencies, wanted }: MoneyFieldsProps) {
  return (
    <>
      {currencies === undefined ? (
        <Field label="Currency" name="currency" value={wanted.currency} maxLength={3} pattern="[A-Z]{3}" />
      ) : (
        <Choice
          label="Currency"
          name="currency"
          value={wanted.currency}
          options={[['', 'any'], ...currencies.map((one) => [one, one] as const)]}
        />
      )}
      <Field label="Amount from" name="amountFrom" value={wanted.amountFrom} maxLength={20} />
      <Field label="to" name="amountTo" value={wanted.amountTo} maxLength={20} />
    </>
  );
}

interface SortChoiceProps<Sort extends string> {
  readonly sorts: readonly (readonly [Sort, string])[];
  readonly sort: Sort;
}

/** A SortChoice as a form of its own. */
export function SortForm<Sort extends string>({ action, ...choice }: SortChoiceProps<Sort> & { action: string }) {
  return (
    <form method="get" action={action} class="list-search d-sm-none">
      <SortChoice {...choice} />
      <button type="submit" class="btn">
        Sort
      </button>
    </form>
  );
}

/** The words of a column that is listed the other way round. */
function wordsOf(sorts: SortChoiceProps<string>['sorts'], sort: string): string {
  const column = sort.replace(/^-/, '');
  return sorts.find(([one]) => one.replace(/^-/, '') === column)?.[1] ?? column;
}

/** The order of a list, for a phone, where no column has a head to press. One that only a head gives is named as it is. */
export function SortChoice<Sort extends string>({ sorts, sort }: SortChoiceProps<Sort>) {
  const isListed = sorts.some(([one]) => one === sort);
  return (
    <div class="d-sm-none">
      <Choice
        label="Sorted by"
        name="sort"
        value={sort}
        options={isListed ? sorts : [...sorts, [sort, `${wordsOf(sorts, sort)}, the other way`]]}
      />
    </div>
  );
}
