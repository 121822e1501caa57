import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import { OwnRefusalContext } from './refused-context.ts';

interface Named {
  readonly name: string;
  /** Of the control, where the page has others of this name. */
  readonly id?: string | undefined;
  readonly hint?: string | undefined;
}

/** What was typed into a field of a form that was refused, what is wrong with it, and how its control says so. */
export function useField({ name, id = `field-${name}`, hint }: Named) {
  const refused = useContext(OwnRefusalContext);
  const problem = refused?.problem.fields[name];
  const described = [
    ...(problem === undefined ? [] : [`problem-${id}`]),
    ...(hint === undefined ? [] : [`hint-${id}`]),
  ].join(' ');
  return {
    /** Undefined where the form was not refused; '' for what was not sent. */
    typed: refused === null ? undefined : (refused.typed[name] ?? ''),
    problem,
    control: {
      id,
      name,
      ...(described === '' ? {} : { 'aria-describedby': described }),
      ...(problem === undefined ? {} : { 'aria-invalid': true }),
      ...(refused?.first === name ? { autofocus: true } : {}),
    },
  };
}

interface NoteProps {
  /** Of the control. */
  readonly id: string;
  readonly words: string | undefined;
}

/** What is wrong with a field. */
export function Wrong({ id, words }: NoteProps) {
  if (words === undefined) return null;
  return (
    <small id={`problem-${id}`} class="field-problem">
      {escapeUnseen(words)}
    </small>
  );
}

/** What helps to fill a field in. */
export function Hint({ id, words }: NoteProps) {
  if (words === undefined) return null;
  return (
    <small id={`hint-${id}`} class="hint">
      {words}
    </small>
  );
}

interface LabelledProps extends Named {
  readonly label: string;
  readonly children: ComponentChildren;
}

function Labelled({ label, children, ...named }: LabelledProps) {
  const { problem, control } = useField(named);
  return (
    <p class="field d-flex flex-column">
      <label class="form-label mb-1" for={control.id}>
        {label}
      </label>
      <Wrong id={control.id} words={problem} />
      {children}
      <Hint id={control.id} words={named.hint} />
    </p>
  );
}

interface FieldProps extends Named {
  readonly label: string;
  /** Hides what is typed, which is never shown again. */
  readonly secret?: boolean;
  /** A day and a time, which a browser helps to choose. */
  readonly isTime?: boolean;
  readonly isDay?: boolean;
  readonly value?: string;
  readonly required?: boolean;
  readonly readOnly?: boolean;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly inputMode?: 'numeric' | undefined;
  readonly placeholder?: string;
  readonly autocomplete?: string;
  /** For the script: a passkey may answer in the place of what is typed. */
  readonly 'data-passkey'?: boolean;
}

/** A labelled field of one line. */
export function Field(props: FieldProps) {
  const { label, name, id, hint, secret = false, isTime, isDay, value = '', autocomplete = 'off', ...others } = props;
  const { typed, control } = useField({ name, id, hint });
  const shown = secret ? '' : (typed ?? value);
  const shared = { maxLength: 1000, ...others, ...control, value: shown, autoComplete: autocomplete };
  const own = { class: 'form-control', ...shared };
  return (
    <Labelled label={label} name={name} id={id} hint={hint}>
      {isTime === true ? <input type="datetime-local" {...own} /> : null}
      {isDay === true ? <input type="date" {...own} /> : null}
      {isTime === true || isDay === true ? null : <OneLine secret={secret} own={own} />}
    </Labelled>
  );
}

function OneLine({ secret, own }: { secret: boolean; own: object }) {
  return secret ? <input type="password" {...own} /> : <input type="text" {...own} />;
}

/** A labelled field of several lines. */
export function LongField({ label, rows, ...named }: Named & { readonly label: string; readonly rows: number }) {
  const { typed = '', control } = useField(named);
  return (
    <Labelled label={label} {...named}>
      <textarea class="form-control" rows={rows} {...control}>
        {typed}
      </textarea>
    </Labelled>
  );
}

interface ChoiceProps extends Named {
  /** Stands above it; `ariaLabel` is only heard. */
  readonly label?: string;
  readonly ariaLabel?: string;
  readonly options: readonly (readonly [value: string, words: string])[];
  readonly value?: string;
}

/** A choice of one of several; with a label above it, or alone, and then without a hint, in a line of buttons. */
export function Choice({ label, ariaLabel, options, value, ...named }: ChoiceProps) {
  const { typed, problem, control } = useField(named);
  const chosen = typed ?? value;
  const select = (
    <select class="form-select" {...control} {...(ariaLabel === undefined ? {} : { 'aria-label': ariaLabel })}>
      {options.map(([one, words]) => (
        <option key={one} value={one} selected={one === chosen}>
          {words}
        </option>
      ))}
    </select>
  );
  if (label !== undefined) {
    return (
      <Labelled label={label} {...named}>
        {select}
      </Labelled>
    );
  }
  return (
    <>
      {select} <Wrong id={control.id} words={problem} />
    </>
  );
}

/** A labelled box to tick; it sends `yes`. */
export function Tick({ label, isTicked, ...named }: Named & { readonly label: string; readonly isTicked?: boolean }) {
  const { typed, problem, control } = useField(named);
  return (
    <p class="tick">
      <input
        type="checkbox"
        value="yes"
        checked={typed === undefined ? isTicked === true : typed === 'yes'}
        {...control}
      />{' '}
      <label for={control.id}>{label}</label> <Wrong id={control.id} words={problem} />{' '}
      <Hint id={control.id} words={named.hint} />
    </p>
  );
}

interface StageFieldsProps {
  readonly stage?: string;
  readonly goOnIfPaid?: boolean;
  /** What an empty field means. */
  readonly empty: string;
}

/** In which stages a run is to be paid. */
export function StageFields({ stage = '', goOnIfPaid = false, empty }: StageFieldsProps) {
  return (
    <>
      <Field
        label="Stages"
        name="stage"
        value={stage}
        maxLength={200}
        placeholder="10,100,rest"
        hint={`Rows, or shares such as 1%, and then the rest. The run pauses after each of them. ${empty}`}
      />
      <Tick
        name="goOnIfPaid"
        label="Go on by itself if all was paid"
        isTicked={goOnIfPaid}
        hint="It pauses only after a stage in which a payout was not paid."
      />
    </>
  );
}
