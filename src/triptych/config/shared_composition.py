"""The configurations of a sweep's arms. What arms have in common is composed once."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from hydra import compose
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from triptych.config.composition import RunConfig, compose_unchecked, separate_hydra, with_reference, without_hydra
from triptych.config.quoting import quoted


def compose_arms(arms: Sequence[Sequence[str]]) -> list[RunConfig]:
    """Compose the configuration of each arm, as ``compose_unchecked`` does; neither checked nor frozen.

    Hydra reads and merges the files that the options of groups name, and sets single values last. So arms that choose
    the same options start from copies of one configuration.

    Args:
        arms: overrides of each arm.

    Raises:
        Exception: Hydra's own errors, as of ``compose_unchecked``.
    """
    with separate_hydra() as loader:
        composer = _Composer(loader)
        composed = [composer.compose(overrides) for overrides in arms]
    return [found or compose_unchecked(overrides) for found, overrides in zip(composed, arms, strict=True)]


class _Composer:
    """Composes arms, and remembers what each choice of options is composed to.

    Args:
        loader: Hydra's.
    """

    def __init__(self, loader: ConfigLoader) -> None:
        self._loader = loader
        self._groups: dict[tuple[str, ...], bool] = {}
        self._known: dict[tuple[str, ...], tuple[DictConfig, dict[str, str]]] = {}

    def compose(self, overrides: Sequence[str]) -> RunConfig | None:
        """Return the configuration of an arm; None if it has a mistake, which Hydra explains best by itself."""
        try:
            config, choices = self._compose(overrides)
            return with_reference(config, choices, overrides, lambda reference: self._compose(reference)[0])
        except (HydraException, OmegaConfBaseException, UserWarning):  # composing the arm alone raises it again
            return None

    def _compose(self, overrides: Sequence[str]) -> tuple[DictConfig, dict[str, str]]:
        """Return the configuration of a command line without Hydra's part, and the option chosen of each group."""
        parsed = OverridesParser.create(self._loader).parse_overrides(list(map(quoted, overrides)))
        if any(one.is_sweep_override() for one in parsed):
            raise HydraException("several values")  # composing the arm alone explains it
        hydras = [str(one.input_line) for one in parsed if one.is_hydra_override()]
        options = [one for one in parsed if one.is_hydra_override() or self._chooses_file(one, hydras)]
        shared, choices = self._shared([str(one.input_line) for one in options])
        config = copy.deepcopy(shared)
        ConfigLoaderImpl._apply_overrides_to_config([one for one in parsed if one not in options], config)
        return OmegaConf.masked_copy(config, [str(key) for key in config]), choices  # as ``without_hydra`` leaves it

    def _shared(self, options: Sequence[str]) -> tuple[DictConfig, dict[str, str]]:
        """Return what all arms with these options are composed to before their values are set, and the options chosen.

        Hydra's part is left out, and the types of the keys stay, by which values are converted or refused.
        """
        key = tuple(options)
        if key not in self._known:
            config = compose("train", overrides=list(options), return_hydra_config=True)
            choices = without_hydra(config)[1]
            with open_dict(config):
                del config["hydra"]
            self._known[key] = config, choices
        return self._known[key]

    def _chooses_file(self, override: Override, hydras: Sequence[str]) -> bool:
        """Whether an override chooses the option of a group. Settings of Hydra's own say where it looks for groups."""
        key = override.key_or_group
        if (key, *hydras) not in self._groups:
            self._groups[key, *hydras] = bool(self._loader.get_group_options(key, None, "train", list(hydras)))
        return self._groups[key, *hydras] and not isinstance(override.value(), dict)
