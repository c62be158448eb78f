"""The codes of everything that can be wrong with a document: stable, documented, one meaning each."""

from __future__ import annotations

MISSING_FILE = "LL-C101"
DIRECTORY = "LL-C102"
UNREADABLE = "LL-C103"
EMPTY = "LL-C104"
NOT_A_MAP = "LL-C105"
SYNTAX = "LL-C106"
TAB = "LL-C107"
DUPLICATE_KEY = "LL-C108"
BAD_ANCHOR = "LL-C109"
UNKNOWN_KEY = "LL-C110"
WRONG_PLACE = "LL-C111"
MISSING_KEY = "LL-C112"
WRONG_TYPE = "LL-C113"
UNKNOWN_VALUE = "LL-C114"
NO_VALUE = "LL-C115"
NO_KIND = "LL-C116"
TWO_KINDS = "LL-C117"
INVALID = "LL-C119"
EXCLUSIVE = "LL-C120"
ONE_NEEDED = "LL-C121"
DUPLICATE_NAME = "LL-C122"
CONTRADICTION = "LL-C123"
BAD_BOUNDS = "LL-C124"
BAD_FORMAT = "LL-C125"
NO_EFFECT = "LL-C126"
NO_KEY = "LL-C127"
ERASES = "LL-C129"
UNKNOWN_LINK = "LL-C128"
UNKNOWN_ENVIRONMENT = "LL-C130"
NO_ENVIRONMENTS = "LL-C131"
SHARED_ENVIRONMENT = "LL-C134"
MASKED_FOLDER = "LL-C135"
BAD_SET_PATH = "LL-C132"
BAD_SET_VALUE = "LL-C133"
UNRESOLVED_PLACEHOLDER = "LL-C140"
UNRESOLVED_VARIABLE = "LL-C141"
LITERAL_SECRET = "LL-C142"
BAD_REFERENCE = "LL-C143"
UNKNOWN_PACK = "LL-C160"
PACK_CONFLICT = "LL-C161"
PACK_REMOVES = "LL-C162"
WRONG_NEIGHBOUR = "LL-C163"
UNKNOWN_ENTITY = "LL-C170"
UNKNOWN_UPSTREAM = "LL-C171"
CYCLE = "LL-C172"
DUPLICATE_DATASET = "LL-C173"
WRONG_LAYER = "LL-C174"
UNLISTED = "LL-C175"
BACKWARDS = "LL-C176"
SHARED_TARGET = "LL-C177"
NESTED_TARGET = "LL-C180"
NO_OWNER = "LL-C178"
NOTHING_FOUND = "LL-C179"
KEY_NOT_YET = "LL-C150"
VALUE_NOT_YET = "LL-C151"

MEANINGS: dict[str, str] = {
    MISSING_FILE: "The file does not exist.",
    DIRECTORY: "A folder was given where a file is needed.",
    UNREADABLE: "The file cannot be read, or is not UTF-8 text.",
    EMPTY: "The file holds nothing.",
    NOT_A_MAP: "The document is not a map of keys and values.",
    SYNTAX: "The text is not valid YAML.",
    TAB: "A tab stands where YAML needs spaces.",
    DUPLICATE_KEY: "A key stands twice in one map.",
    BAD_ANCHOR: "An anchor, alias or merge key cannot be followed.",
    UNKNOWN_KEY: "A key that no section has by that name.",
    WRONG_PLACE: "A key that is known, but not here.",
    MISSING_KEY: "A key that is needed is not there.",
    WRONG_TYPE: "A value of the wrong kind.",
    UNKNOWN_VALUE: "A value outside a closed set; sets are case-sensitive.",
    NO_VALUE: "A key without a value.",
    NO_KIND: "A step or a rule that says no kind.",
    TWO_KINDS: "A step or a rule that says two kinds.",
    INVALID: "A value that the section does not accept.",
    EXCLUSIVE: "Two keys that exclude each other.",
    ONE_NEEDED: "One of several keys is needed.",
    DUPLICATE_NAME: "A name that stands twice in a list.",
    CONTRADICTION: "Two settings that contradict each other.",
    BAD_BOUNDS: "Bounds in the wrong order, or outside what is possible.",
    BAD_FORMAT: "Text that is not written as the key needs it.",
    NO_EFFECT: "A setting that has no effect as the contract stands.",
    NO_KEY: "A strategy that needs a primary key.",
    UNKNOWN_LINK: "A reference to a link that is not declared.",
    ERASES: "Settings by which every run erases the rows of those before it.",
    UNKNOWN_ENVIRONMENT: "An environment that the contract does not have.",
    NO_ENVIRONMENTS: "An environment was chosen, and the contract has none.",
    SHARED_ENVIRONMENT: "An environment that reads something else and writes to the same table.",
    MASKED_FOLDER: "A masked field whose values stand in the names of folders, which are kept in clear.",
    BAD_SET_PATH: "An override whose path leads nowhere.",
    BAD_SET_VALUE: "An override that cannot be read.",
    UNRESOLVED_PLACEHOLDER: "A `{placeholder}` that nothing fills.",
    UNRESOLVED_VARIABLE: "An environment variable that is not set.",
    LITERAL_SECRET: "A secret written out; only references are accepted.",
    BAD_REFERENCE: "A reference to a secret that cannot be read.",
    UNKNOWN_PACK: "A policy pack that is not there.",
    PACK_CONFLICT: "A policy pack and a contract say two different things about the same rule.",
    PACK_REMOVES: "A policy pack that would take something out of a contract; packs only add and tighten.",
    WRONG_NEIGHBOUR: "A contract or a system names another domain or system than the documents around it.",
    UNKNOWN_ENTITY: "A registry names an entity that no registry has.",
    UNKNOWN_UPSTREAM: "An upstream that no contract of the estate makes.",
    CYCLE: "Datasets that need one another in a circle.",
    DUPLICATE_DATASET: "Two contracts, or two entries of registries, for one dataset.",
    WRONG_LAYER: "A contract stands under another layer in its registry than it says itself.",
    UNLISTED: "A contract beside a registry that does not name it.",
    BACKWARDS: "A dataset that needs one of a later layer.",
    SHARED_TARGET: "Two datasets that write one table.",
    NESTED_TARGET: "A table that would lie inside another one.",
    NO_OWNER: "A dataset that nobody answers for.",
    NOTHING_FOUND: "There is no contract and no registry here.",
    KEY_NOT_YET: "A key whose effect is not available yet.",
    VALUE_NOT_YET: "A value whose effect is not available yet.",
}
