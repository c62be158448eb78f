"""The model of a contract: its fields, their constraints, and how personal data in them is masked."""

from typing import Annotated, ClassVar, Literal

from lakelogic.contract.base import Flag, Key, NamedList, Scalar, Section, Sql, Text, Verbatim, Whole
from lakelogic.contract.rules import RowRule, Severity

Masking = Literal["nullify", "hash", "redact", "partial", "encrypt", "encrypt_deterministic"]


class ForeignKey(Section):
    """A promise that the field's values are found in another contract's table."""

    PURPOSE: ClassVar[str] = "Values of the field must be found in another contract's table."

    contract: Text = Key(description="The dataset that holds the referenced values.")
    column: Text = Key(description="The column there.")
    severity: Severity = Key("error", description="What a missing reference does to the row.")


class Field(Section):
    """One declared column: what it holds, which values are allowed, and how it is protected."""

    PURPOSE: ClassVar[str] = "One declared column."

    name: Text = Key(description="The column's name, as published.")
    type: Text = Key("string", description="string, boolean, int, bigint, decimal(p,s), date, timestamp, array<…>, …")
    required: Flag = Key(False, description="A row without a value is bad.")
    description: Verbatim | None = Key(None, description="What the field means.")
    pii: Flag = Key(False, description="Personal data.")
    phi: Flag = Key(False, description="Personal health data.")
    sensitive: Flag = Key(False, description="Sensitive without being personal.")
    classification: Text | None = Key(None, description="Your own confidentiality class.")
    masking: Masking | None = Key(None, description="How values are hidden before anything is written.")
    masking_format: Verbatim | None = Key(
        None, description="Shape of a `partial` mask: `{first1}` to `{first9}`, `{last1}` to `{last9}`, `{domain}`."
    )
    security_groups: tuple[Text, ...] = Key((), description="Who may see the clear value.")
    accepted_values: tuple[Scalar, ...] = Key((), description="The only values a present value may have.")
    min: Scalar = Key(None, description="Smallest allowed value, inclusive.")
    max: Scalar = Key(None, description="Largest allowed value, inclusive.")
    min_length: Whole | None = Key(None, description="Fewest characters.")
    max_length: Whole | None = Key(None, description="Most characters.")
    pattern: Verbatim | None = Key(None, description="A regular expression that must be found in the value.")
    unique: Flag = Key(False, description="No two rows share a value.")
    foreign_key: ForeignKey | None = Key(None, description="Values must exist in another contract's table.")
    rules: tuple[RowRule, ...] = Key((), description="Row rules kept next to the field they judge.")
    default: Scalar = Key(None, description="The value used where none landed.")
    generated: Sql | None = Key(None, description="An expression that computes the field.")
    milestone: Flag = Key(False, description="A date of an accumulating snapshot.")
    extraction_task: Text | None = Key(None, description="Which extraction fills the field.")


class Model(Section):
    """What one row of the dataset is, and its fields."""

    PURPOSE: ClassVar[str] = "What one row is, and its fields."

    grain: Verbatim | None = Key(None, description="One sentence: what one row stands for.")
    fields: Annotated[tuple[Field, ...], NamedList] = Key((), description="The declared columns, in published order.")

    def field(self, name: str) -> Field | None:
        """The field of that name; column names are matched without case."""
        lowered = name.lower()
        return next((field for field in self.fields if field.name.lower() == lowered), None)


__all__ = ["Field", "ForeignKey", "Masking", "Model"]
