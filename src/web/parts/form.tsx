import { type ComponentChildren, createContext } from 'preact';
import { useContext } from 'preact/hooks';

/** The token of the session that a page is made for. */
export const CsrfContext = createContext('');

/** A form that changes something; it repeats the token of its session. */
export function Form({ action, children, ...rest }: { action: string; children: ComponentChildren; class?: string }) {
  const csrf = useContext(CsrfContext);
  return (
    <form method="post" action={action} {...rest}>
      <input type="hidden" name="csrf" value={csrf} />
      {children}
    </form>
  );
}

interface FieldProps {
  readonly label: string;
  readonly name: string;
  /** Hides what is typed. */
  readonly secret?: boolean;
  readonly value?: string;
  readonly hint?: string;
  readonly required?: boolean;
  readonly maxLength?: number;
  readonly autocomplete?: string;
}

/** A labelled text field. */
export function Field(props: FieldProps) {
  const {
    label,
    name,
    secret = false,
    hint,
    autocomplete = 'off',
    value = '',
    required = false,
    maxLength = 1000,
  } = props;
  const shared = {
    id: `field-${name}`,
    name,
    value,
    required,
    maxLength,
    autoComplete: autocomplete,
    ...(hint === undefined ? {} : { 'aria-describedby': `hint-${name}` }),
  };
  return (
    <p class="field">
      <label for={`field-${name}`}>{label}</label>
      {secret ? <input type="password" {...shared} /> : <input type="text" {...shared} />}
      {hint === undefined ? null : (
        <small id={`hint-${name}`} class="hint">
          {hint}
        </small>
      )}
    </p>
  );
}
